//! Linear layers over quantised weights.

use std::fmt;
use std::sync::Arc;

use candle_core::quantized::{GgmlDType, QMatMul, QStorage, QTensor, QuantizedType};
use candle_core::{D, Device, Module, Result, Tensor};

use crate::weight_release::ReleasableWeights;

/// A matrix of weights with its bias, in two layouts where that is faster: repacked into tiles for several tokens,
/// and the original one for a single token.
#[derive(Debug)]
pub(crate) struct LinearLayer {
    /// Repacked weights for several rows.
    tiled: QMatMul,
    /// Original weights for one row, where they are faster.
    single_row: Option<RowWeights>,
    bias: Option<Tensor>,
}

/// Original weights of the file: `height` rows of `width`.
struct RowWeights {
    weights: Box<dyn QuantizedType>,
    height: usize,
    width: usize,
}

impl LinearLayer {
    /// Repacks the weights, and keeps the original ones where they are faster for one row.
    pub(crate) fn new(weights: &QTensor, bias: Option<Tensor>) -> Result<Self> {
        let (height, width) = weights.shape().dims2()?;
        let (tensor, releasable) = ReleasableWeights::wrap(weights)?;
        let tiled = QMatMul::from_arc(tensor)?;
        let released =
            releasable.release_after_repacking(&tiled, width)?.filter(|bytes| is_faster_for_one_row(bytes.dtype()));
        let single_row = released.map(|weights| RowWeights { weights, height, width });
        Ok(Self { tiled, single_row, bias })
    }

    /// Maps `[1, count, width]` to `[1, count, height]`.
    pub(crate) fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let y = match &self.single_row {
            // One row: a single token while text is generated.
            Some(weights) if x.elem_count() == weights.width => weights.forward(x)?,
            _ => self.tiled.forward(x)?,
        };
        match &self.bias {
            Some(bias) => y.broadcast_add(bias),
            None => Ok(y),
        }
    }
}

/// Matrices with the same input, fused as far as their formats allow: each product quantises its input and
/// synchronizes all threads at its end, so fewer products are faster.
#[derive(Debug)]
pub(crate) struct FusedLinear {
    /// Fused layers, with the height of each matrix in them.
    groups: Vec<(LinearLayer, Vec<usize>)>,
}

/// Weights and an optional bias.
pub(crate) type WeightAndBias = (Arc<QTensor>, Option<Tensor>);

impl FusedLinear {
    /// Fuses neighbouring matrices of the same width and format.
    pub(crate) fn new(parts: &[WeightAndBias]) -> Result<Self> {
        let alike = |(one, bias): &WeightAndBias, (other, other_bias): &WeightAndBias| {
            let are_as_wide = one.shape().dims().last() == other.shape().dims().last();
            are_as_wide && one.dtype() == other.dtype() && bias.is_some() == other_bias.is_some()
        };
        let groups = parts.chunk_by(alike).map(|parts| {
            let heights = parts.iter().map(|(weights, _)| Ok(weights.shape().dims2()?.0));
            Ok((fuse(parts)?, heights.collect::<Result<_>>()?))
        });
        Ok(Self { groups: groups.collect::<Result<_>>()? })
    }

    /// Maps `[1, count, width]` to `[1, count, height]` for each matrix.
    pub(crate) fn forward(&self, x: &Tensor) -> Result<Vec<Tensor>> {
        let mut results = Vec::new();
        for (group, heights) in &self.groups {
            let (y, mut start) = (group.forward(x)?, 0);
            for height in heights {
                results.push(y.narrow(D::Minus1, start, *height)?.contiguous()?);
                start += height;
            }
        }
        Ok(results)
    }
}

/// Concatenates the rows of `parts` (at least one), which have the same format and width.
fn fuse(parts: &[WeightAndBias]) -> Result<LinearLayer> {
    let (first, bias) = &parts[0];
    if parts.len() == 1 {
        return LinearLayer::new(first, bias.clone());
    }
    let (_, width) = first.shape().dims2()?;
    let (mut bytes, mut height) = (Vec::new(), 0);
    for (weights, _) in parts {
        bytes.extend_from_slice(&weights.data()?);
        height += weights.shape().dims2()?.0;
    }
    let storage = QStorage::from_data(bytes.into(), &Device::Cpu, first.dtype())?;
    let biases: Vec<&Tensor> = parts.iter().filter_map(|(_, bias)| bias.as_ref()).collect();
    let bias = if biases.is_empty() { None } else { Some(Tensor::cat(&biases, 0)?) };
    LinearLayer::new(&QTensor::new(storage, (height, width))?, bias)
}

impl RowWeights {
    /// Maps `[1, 1, width]` to `[1, 1, height]`.
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let mut y = vec![0.0; self.height];
        self.weights.matmul_t((1, self.width, self.height), &x.flatten_all()?.to_vec1()?, &mut y)?;
        Tensor::from_vec(y, (1, 1, self.height), &Device::Cpu)
    }
}

impl fmt::Debug for RowWeights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Compact({} rows of {})", self.height, self.width)
    }
}

/// Returns whether one row is multiplied faster with the original weights than with tiles: 4.5 instead of 6 bits per
/// weight, for kernels that wait for memory. Measured on two cores of an AMD EPYC: 47 instead of 29 billion weights
/// per second.
fn is_faster_for_one_row(dtype: GgmlDType) -> bool {
    cfg!(target_arch = "x86_64") && dtype == GgmlDType::Q4K
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fused_matrices_equal_separate_ones() {
        let random = |shape: (usize, usize)| Tensor::rand(-1_f32, 1.0, shape, &Device::Cpu).unwrap();
        let part = |(dtype, height, has_bias): (GgmlDType, usize, bool)| {
            let bias = has_bias.then(|| random((1, height)).squeeze(0).unwrap());
            (Arc::new(QTensor::quantize(&random((height, 512)), dtype).unwrap()), bias)
        };
        let parts = [(GgmlDType::Q4K, 64, true), (GgmlDType::Q4K, 32, true), (GgmlDType::Q6K, 32, true)].map(part);
        let without = [(GgmlDType::Q6K, 48, false), (GgmlDType::Q6K, 48, true)].map(part);
        let joined = [FusedLinear::new(&parts).unwrap(), FusedLinear::new(&without).unwrap()];
        assert_eq!(joined.each_ref().map(|joined| joined.groups.len()), [2, 2]);
        for rows in [1, 3] {
            let x = random((rows, 512)).unsqueeze(0).unwrap();
            for (joined, parts) in joined.iter().zip([&parts[..], &without[..]]) {
                let together = joined.forward(&x).unwrap();
                assert_eq!(together.len(), parts.len());
                for (together, (weights, bias)) in together.iter().zip(parts) {
                    let alone = LinearLayer::new(weights, bias.clone()).unwrap().forward(&x).unwrap();
                    let [together, alone] = [together, &alone].map(|y| y.squeeze(0).unwrap().to_vec2::<f32>().unwrap());
                    assert_eq!(together, alone);
                }
            }
        }
    }

    #[test]
    fn single_row_equals_row_among_others() {
        let random = |shape: (usize, usize)| Tensor::rand(-1_f32, 1.0, shape, &Device::Cpu).unwrap();
        // The last one has no tiles: sixteen rows make one.
        for (dtype, height) in [(GgmlDType::Q4K, 64), (GgmlDType::Q6K, 64), (GgmlDType::Q8_0, 64), (GgmlDType::Q4K, 40)]
        {
            let weights = QTensor::quantize(&random((height, 512)), dtype).unwrap();
            let bias = random((1, height)).squeeze(0).unwrap();
            let linear = LinearLayer::new(&weights, Some(bias)).unwrap();
            let x = random((3, 512)).unsqueeze(0).unwrap();
            let together: Vec<Vec<f32>> = linear.forward(&x).unwrap().squeeze(0).unwrap().to_vec2().unwrap();
            for (index, together) in together.iter().enumerate() {
                let alone = linear.forward(&x.narrow(1, index, 1).unwrap()).unwrap();
                assert_eq!(alone.dims(), [1, 1, height]);
                let alone: Vec<f32> = alone.flatten_all().unwrap().to_vec1().unwrap();
                let apart = alone.iter().zip(together).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                assert!(apart < 0.5, "{dtype:?} of {height}: {apart} apart, among {together:?}");
            }
        }
    }
}
