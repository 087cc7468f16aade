//! The forward pass of the qwen2 and llama families over quantised weights.

use std::io::{Read, Seek};
use std::sync::Arc;

use candle_core::quantized::gguf_file::Content;
use candle_core::quantized::{GgmlDType, QMatMul, QTensor};
use candle_core::{D, Device, Module, Result, Tensor};
use candle_nn::ops::{rms_norm, silu};
use candle_nn::rotary_emb::{rope_i, rope_thd};

use crate::attention::{causal_attention, multiply_on_one_thread};
use crate::contention::CpuContention;
use crate::kv_cache::KvCache;
use crate::linear::{FusedLinear, LinearLayer, WeightAndBias};
use crate::model_config::{ModelConfig, RotaryPairing};

/// Maximum context length in tokens. The default weights support four times as many, but 7,500 take more than two
/// minutes on two cores.
const MAX_CONTEXT_TOKENS: usize = 8192;

/// Number of tokens per forward pass. From 32 on, the matrix kernels of some CPUs repack the weights once more, which
/// takes more memory than the file.
const TOKENS_PER_PASS: usize = 28;

/// Number of layers between two samples of [`CpuContention`].
const LAYERS_PER_SAMPLE: usize = 8;

/// A loaded transformer model.
#[derive(Debug)]
pub(crate) struct TransformerModel {
    config: ModelConfig,
    context: usize,
    embedding: QMatMul,
    layers: Vec<TransformerLayer>,
    norm: Tensor,
    output: QMatMul,
    /// Cosines and sines of the rotary embeddings, of shape `[context, head_dim / 2]`.
    rotations: (Tensor, Tensor),
    contention: CpuContention,
}

/// Weights of one layerof a [`TransformerModel`].
#[derive(Debug)]
struct TransformerLayer {
    attention_norm: Tensor,
    query_key_value: FusedLinear,
    attention_output: LinearLayer,
    feed_norm: Tensor,
    gate_up: FusedLinear,
    down: LinearLayer,
}

/// Reader for the tensors of a weight file.
struct WeightLoader<'a, R> {
    content: &'a Content,
    reader: &'a mut R,
}

impl<R: Read + Seek> WeightLoader<'_, R> {
    fn has_tensor(&self, name: &str) -> bool {
        self.content.tensor_infos.contains_key(name)
    }

    fn load_quantised(&mut self, name: &str) -> Result<Arc<QTensor>> {
        let tensor = self.content.tensor(self.reader, name, &Device::Cpu)?;
        // These two formats have no fast kernel here; eight bits represent their values without loss.
        let tensor = match tensor.dtype() {
            GgmlDType::Q4_1 | GgmlDType::Q5_0 => QTensor::quantize(&tensor.dequantize(&Device::Cpu)?, GgmlDType::Q8_0)?,
            _ => tensor,
        };
        Ok(Arc::new(tensor))
    }

    fn load_dense(&mut self, name: &str) -> Result<Tensor> {
        self.content.tensor(self.reader, name, &Device::Cpu)?.dequantize(&Device::Cpu)
    }

    fn load_weight_and_bias(&mut self, name: &str) -> Result<WeightAndBias> {
        let bias = format!("{name}.bias");
        let bias = if self.has_tensor(&bias) { Some(self.load_dense(&bias)?) } else { None };
        Ok((self.load_quantised(&format!("{name}.weight"))?, bias))
    }

    fn load_linear(&mut self, name: &str) -> Result<LinearLayer> {
        let (weights, bias) = self.load_weight_and_bias(name)?;
        LinearLayer::new(&weights, bias)
    }

    fn load_fused(&mut self, names: &[String]) -> Result<FusedLinear> {
        FusedLinear::new(&names.iter().map(|name| self.load_weight_and_bias(name)).collect::<Result<Vec<_>>>()?)
    }

    fn load_layer(&mut self, index: usize) -> Result<TransformerLayer> {
        let name = |part: &str| format!("blk.{index}.{part}");
        Ok(TransformerLayer {
            attention_norm: self.load_dense(&name("attn_norm.weight"))?,
            query_key_value: self.load_fused(&["attn_q", "attn_k", "attn_v"].map(name))?,
            attention_output: self.load_linear(&name("attn_output"))?,
            feed_norm: self.load_dense(&name("ffn_norm.weight"))?,
            gate_up: self.load_fused(&["ffn_gate", "ffn_up"].map(name))?,
            down: self.load_linear(&name("ffn_down"))?,
        })
    }
}

impl TransformerModel {
    /// Loads the weights that `content` lists. `progress` is called with the number of loaded layers and their total.
    pub(crate) fn load(
        config: ModelConfig,
        content: &Content,
        reader: &mut (impl Read + Seek),
        progress: impl Fn(u32, u32),
    ) -> Result<Self> {
        multiply_on_one_thread();
        let mut loader = WeightLoader { content, reader };
        let embedding = loader.load_quantised("token_embd.weight")?;
        let output = if loader.has_tensor("output.weight") {
            loader.load_quantised("output.weight")?
        } else {
            // Small models share the embedding and output matrices.
            embedding.clone()
        };
        let total = config.layers as u32;
        let layer = |index| loader.load_layer(index).inspect(|_| progress(index as u32 + 1, total));
        let layers = (0..config.layers).map(layer).collect::<Result<_>>()?;
        let context = MAX_CONTEXT_TOKENS.min(config.trained_context);
        Ok(Self {
            context,
            layers,
            norm: loader.load_dense("output_norm.weight")?,
            embedding: QMatMul::from_arc(embedding)?,
            output: QMatMul::from_arc(output)?,
            rotations: rotary_tables(&config, context)?,
            config,
            contention: CpuContention::new(),
        })
    }

    /// Returns the context length: the maximum number of tokens of a prompt and its response.
    pub(crate) fn context_tokens(&self) -> usize {
        self.context
    }

    /// Creates an empty cache for this model.
    pub(crate) fn new_cache(&self) -> Result<KvCache> {
        KvCache::new(&self.config)
    }

    /// Reads `tokens` (at least one) after those in `cache`, and returns the state of the last one for
    /// [`Self::logits`].
    pub(crate) fn read(&self, tokens: &[u32], cache: &mut KvCache) -> Result<Tensor> {
        let mut last = None;
        for rows in tokens.chunks(TOKENS_PER_PASS) {
            let states = self.contention.compute(|sample| self.forward_pass(rows, cache, sample))?;
            last = Some(row(&states, rows.len() - 1)?);
        }
        last.map_or_else(|| candle_core::bail!("no tokens to read"), Ok)
    }

    /// Runs one forward pass over new tokens, and returns the state of each.
    fn forward_pass(&self, tokens: &[u32], cache: &mut KvCache, sample: &dyn Fn()) -> Result<Tensor> {
        let (start, count) = (cache.tokens().len(), tokens.len());
        cache.reserve(start + count)?;
        let (cos, sin) = (self.rotations.0.narrow(0, start, count)?, self.rotations.1.narrow(0, start, count)?);
        let mut x = self.embedding.embedding(&Tensor::new(tokens, &Device::Cpu)?.unsqueeze(0)?)?;
        for (index, layer) in self.layers.iter().enumerate() {
            let normed = rms_norm(&x, &layer.attention_norm, self.config.norm_epsilon)?;
            x = (x + self.attend(layer, index, &normed, (&cos, &sin), cache)?)?;
            let normed = rms_norm(&x, &layer.feed_norm, self.config.norm_epsilon)?;
            let [gate, up] = into_array(layer.gate_up.forward(&normed)?)?;
            x = (x + layer.down.forward(&(silu(&gate)? * up)?)?)?;
            if index % LAYERS_PER_SAMPLE == 0 {
                sample();
            }
        }
        // After all layers: a pass that fails leaves no half-read tokens.
        cache.advance(tokens);
        Ok(x)
    }

    /// Returns the logits of the next token for the whole vocabulary.
    pub(crate) fn logits(&self, state: &Tensor) -> Result<Vec<f32>> {
        self.contention.compute(|_| {
            let normed = rms_norm(state, &self.norm, self.config.norm_epsilon)?;
            self.output.forward(&normed)?.flatten_all()?.to_vec1()
        })
    }

    fn attend(
        &self,
        layer: &TransformerLayer,
        index: usize,
        x: &Tensor,
        rotation: (&Tensor, &Tensor),
        cache: &KvCache,
    ) -> Result<Tensor> {
        let count = x.dim(1)?;
        let split = |t: Tensor, heads: usize| t.reshape((1, count, heads, self.config.head_dim));
        let [query, key, value] = into_array(layer.query_key_value.forward(x)?)?;
        let query = self.rotate(&split(query, self.config.heads)?, rotation)?;
        let key = self.rotate(&split(key, self.config.kv_heads)?, rotation)?;
        let value = split(value, self.config.kv_heads)?;
        let (keys, values) = cache.extend_layer(index, &key, &value)?;
        let joined = causal_attention(&query, &keys, &values)?;
        layer.attention_output.forward(&joined)
    }

    /// Applies rotary position embeddings to `x` (`[1, count, heads, head_dim]`).
    fn rotate(&self, x: &Tensor, (cos, sin): (&Tensor, &Tensor)) -> Result<Tensor> {
        match self.config.rotary {
            RotaryPairing::Halves => rope_thd(x, cos, sin),
            RotaryPairing::Adjacent => {
                // The library has this variant for the layout by heads only.
                rope_i(&x.transpose(1, 2)?.contiguous()?, cos, sin)?.transpose(1, 2)?.contiguous()
            }
        }
    }
}

/// Returns one of the states in `[1, count, width]`.
fn row(states: &Tensor, index: usize) -> Result<Tensor> {
    states.narrow(1, index, 1)?.contiguous()
}

/// Returns the outputs of a [`FusedLinear`] as an array.
fn into_array<const COUNT: usize>(parts: Vec<Tensor>) -> Result<[Tensor; COUNT]> {
    parts
        .try_into()
        .map_err(|parts: Vec<Tensor>| candle_core::Error::Msg(format!("{} tensors instead of {COUNT}", parts.len())))
}

/// Computes the cosines and sines of every position.
fn rotary_tables(config: &ModelConfig, context: usize) -> Result<(Tensor, Tensor)> {
    let dim = config.head_dim;
    let frequencies: Vec<f32> = (0..dim / 2).map(|i| config.rope_base.powf(-((2 * i) as f32) / dim as f32)).collect();
    let positions: Vec<f32> = (0..context).map(|position| position as f32).collect();
    let angles = Tensor::new(positions, &Device::Cpu)?
        .unsqueeze(D::Minus1)?
        .broadcast_mul(&Tensor::new(frequencies, &Device::Cpu)?.unsqueeze(0)?)?;
    Ok((angles.cos()?, angles.sin()?))
}
