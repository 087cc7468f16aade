//! The forward pass of the qwen2 and llama families over quantised weights.

use std::io::{Read, Seek};
use std::sync::Arc;

use candle_core::quantized::gguf_file::Content;
use candle_core::quantized::{GgmlDType, QMatMul, QTensor};
use candle_core::{D, Device, Module, Result, Tensor};
use candle_nn::ops::{rms_norm, silu};
use candle_nn::rotary_emb::{rope_i, rope_thd};

use crate::attention::{attend, multiply_on_one_thread};
use crate::cache::KvCache;
use crate::config::{Config, Rotary};
use crate::crowd::Crowd;
use crate::linear::{Joined, Linear, Part};

/// Tokens a prompt and its answer may have together. The default weights could read four times as many; 7,500 take more
/// than two minutes on two cores.
const CONTEXT: usize = 8192;

/// Tokens that are read side by side. From 32 on the kernels for matrices of some processors want the weights in one more
/// order, which takes more memory than the file.
const ROWS: usize = 28;

/// Layers after which is looked whether other programs need the processor.
const LAYERS_A_LOOK: usize = 8;

/// A model in memory.
#[derive(Debug)]
pub(crate) struct Model {
    config: Config,
    context: usize,
    embedding: QMatMul,
    layers: Vec<Layer>,
    norm: Tensor,
    output: QMatMul,
    /// Cosines and sines of every position: `[context, head_dim / 2]`.
    rotations: (Tensor, Tensor),
    crowd: Crowd,
}

#[derive(Debug)]
struct Layer {
    attention_norm: Tensor,
    query_key_value: Joined,
    attention_output: Linear,
    feed_norm: Tensor,
    gate_up: Joined,
    down: Linear,
}

struct Loader<'a, R> {
    content: &'a Content,
    reader: &'a mut R,
}

impl<R: Read + Seek> Loader<'_, R> {
    fn has(&self, name: &str) -> bool {
        self.content.tensor_infos.contains_key(name)
    }

    fn quantised(&mut self, name: &str) -> Result<Arc<QTensor>> {
        let tensor = self.content.tensor(self.reader, name, &Device::Cpu)?;
        // The two formats have no fast kernel here; eight bits hold all that they say.
        let tensor = match tensor.dtype() {
            GgmlDType::Q4_1 | GgmlDType::Q5_0 => QTensor::quantize(&tensor.dequantize(&Device::Cpu)?, GgmlDType::Q8_0)?,
            _ => tensor,
        };
        Ok(Arc::new(tensor))
    }

    fn plain(&mut self, name: &str) -> Result<Tensor> {
        self.content.tensor(self.reader, name, &Device::Cpu)?.dequantize(&Device::Cpu)
    }

    fn part(&mut self, name: &str) -> Result<Part> {
        let bias = format!("{name}.bias");
        let bias = if self.has(&bias) { Some(self.plain(&bias)?) } else { None };
        Ok((self.quantised(&format!("{name}.weight"))?, bias))
    }

    fn linear(&mut self, name: &str) -> Result<Linear> {
        let (weights, bias) = self.part(name)?;
        Linear::new(&weights, bias)
    }

    fn joined(&mut self, names: &[String]) -> Result<Joined> {
        Joined::new(&names.iter().map(|name| self.part(name)).collect::<Result<Vec<_>>>()?)
    }

    fn layer(&mut self, index: usize) -> Result<Layer> {
        let name = |part: &str| format!("blk.{index}.{part}");
        Ok(Layer {
            attention_norm: self.plain(&name("attn_norm.weight"))?,
            query_key_value: self.joined(&["attn_q", "attn_k", "attn_v"].map(name))?,
            attention_output: self.linear(&name("attn_output"))?,
            feed_norm: self.plain(&name("ffn_norm.weight"))?,
            gate_up: self.joined(&["ffn_gate", "ffn_up"].map(name))?,
            down: self.linear(&name("ffn_down"))?,
        })
    }
}

impl Model {
    /// Reads the weights that `content` lists.
    ///
    /// `progress` is told how many of how many layers are read.
    pub(crate) fn load(
        config: Config,
        content: &Content,
        reader: &mut (impl Read + Seek),
        progress: impl Fn(u32, u32),
    ) -> Result<Self> {
        multiply_on_one_thread();
        let mut loader = Loader { content, reader };
        let embedding = loader.quantised("token_embd.weight")?;
        let output = if loader.has("output.weight") { loader.quantised("output.weight")? } else { embedding.clone() };
        let total = config.layers as u32;
        let layer = |index| loader.layer(index).inspect(|_| progress(index as u32 + 1, total));
        let layers = (0..config.layers).map(layer).collect::<Result<_>>()?;
        let context = CONTEXT.min(config.trained_context);
        Ok(Self {
            context,
            layers,
            norm: loader.plain("output_norm.weight")?,
            embedding: QMatMul::from_arc(embedding)?,
            output: QMatMul::from_arc(output)?,
            rotations: rotations(&config, context)?,
            config,
            crowd: Crowd::new(),
        })
    }

    /// Tokens a prompt and its answer may have together.
    pub(crate) fn context(&self) -> usize {
        self.context
    }

    /// An empty cache for this model.
    pub(crate) fn new_cache(&self) -> Result<KvCache> {
        KvCache::new(&self.config)
    }

    /// Reads `tokens` (at least one) after those in `cache`; gives the last one's state for [`Self::logits`].
    pub(crate) fn read(&self, tokens: &[u32], cache: &mut KvCache) -> Result<Tensor> {
        let mut last = None;
        for rows in tokens.chunks(ROWS) {
            let states = self.crowd.compute(|look| self.read_rows(rows, cache, look))?;
            last = Some(row(&states, rows.len() - 1)?);
        }
        last.map_or_else(|| candle_core::bail!("there is nothing to read"), Ok)
    }

    fn read_rows(&self, tokens: &[u32], cache: &mut KvCache, look: &dyn Fn()) -> Result<Tensor> {
        let (start, count) = (cache.tokens().len(), tokens.len());
        cache.reserve(start + count)?;
        let (cos, sin) = (self.rotations.0.narrow(0, start, count)?, self.rotations.1.narrow(0, start, count)?);
        let mut x = self.embedding.embedding(&Tensor::new(tokens, &Device::Cpu)?.unsqueeze(0)?)?;
        for (index, layer) in self.layers.iter().enumerate() {
            let normed = rms_norm(&x, &layer.attention_norm, self.config.norm_epsilon)?;
            x = (x + self.attend(layer, index, &normed, (&cos, &sin), cache)?)?;
            let normed = rms_norm(&x, &layer.feed_norm, self.config.norm_epsilon)?;
            let [gate, up] = parts(layer.gate_up.forward(&normed)?)?;
            x = (x + layer.down.forward(&(silu(&gate)? * up)?)?)?;
            if index % LAYERS_A_LOOK == 0 {
                look();
            }
        }
        cache.advance(tokens);
        Ok(x)
    }

    /// How likely each token of the vocabulary is to come next, as unnormalised logarithms.
    pub(crate) fn logits(&self, state: &Tensor) -> Result<Vec<f32>> {
        self.crowd.compute(|_| {
            let normed = rms_norm(state, &self.norm, self.config.norm_epsilon)?;
            self.output.forward(&normed)?.flatten_all()?.to_vec1()
        })
    }

    fn attend(
        &self,
        layer: &Layer,
        index: usize,
        x: &Tensor,
        rotation: (&Tensor, &Tensor),
        cache: &KvCache,
    ) -> Result<Tensor> {
        let count = x.dim(1)?;
        let split = |t: Tensor, heads: usize| t.reshape((1, count, heads, self.config.head_dim));
        let [query, key, value] = parts(layer.query_key_value.forward(x)?)?;
        let query = self.rotate(&split(query, self.config.heads)?, rotation)?;
        let key = self.rotate(&split(key, self.config.kv_heads)?, rotation)?;
        let value = split(value, self.config.kv_heads)?;
        let (keys, values) = cache.extend_layer(index, &key, &value)?;
        let joined = attend(&query, &keys, &values)?;
        layer.attention_output.forward(&joined)
    }

    /// Turns the heads of `x` (`[1, count, heads, head_dim]`) by their positions.
    fn rotate(&self, x: &Tensor, (cos, sin): (&Tensor, &Tensor)) -> Result<Tensor> {
        match self.config.rotary {
            Rotary::Halves => rope_thd(x, cos, sin),
            Rotary::Neighbours => rope_i(&x.transpose(1, 2)?.contiguous()?, cos, sin)?.transpose(1, 2)?.contiguous(),
        }
    }
}

/// One of the states in `[1, count, width]`.
fn row(states: &Tensor, index: usize) -> Result<Tensor> {
    states.narrow(1, index, 1)?.contiguous()
}

fn parts<const COUNT: usize>(parts: Vec<Tensor>) -> Result<[Tensor; COUNT]> {
    parts
        .try_into()
        .map_err(|parts: Vec<Tensor>| candle_core::Error::Msg(format!("{} in place of {COUNT}", parts.len())))
}

fn rotations(config: &Config, context: usize) -> Result<(Tensor, Tensor)> {
    let dim = config.head_dim;
    let frequencies: Vec<f32> = (0..dim / 2).map(|i| config.rope_base.powf(-((2 * i) as f32) / dim as f32)).collect();
    let positions: Vec<f32> = (0..context).map(|position| position as f32).collect();
    let angles = Tensor::new(positions, &Device::Cpu)?
        .unsqueeze(D::Minus1)?
        .broadcast_mul(&Tensor::new(frequencies, &Device::Cpu)?.unsqueeze(0)?)?;
    Ok((angles.cos()?, angles.sin()?))
}
