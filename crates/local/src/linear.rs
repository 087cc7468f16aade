//! A matrix of weights with its bias.

use std::fmt;
use std::sync::Arc;

use candle_core::quantized::{GgmlDType, QMatMul, QStorage, QTensor, QuantizedType};
use candle_core::{D, Device, Module, Result, Tensor};

use crate::shed::Shed;

/// A matrix of weights with its bias, in two orders where that is faster: tokens are read side by side in tiles, and one
/// token alone with the weights as they are in the file.
#[derive(Debug)]
pub(crate) struct Linear {
    side_by_side: QMatMul,
    alone: Option<Compact>,
    bias: Option<Tensor>,
}

/// Weights as they are in the file: `height` rows of `width`.
struct Compact {
    weights: Box<dyn QuantizedType>,
    height: usize,
    width: usize,
}

impl Linear {
    pub(crate) fn new(weights: &QTensor, bias: Option<Tensor>) -> Result<Self> {
        let (height, width) = weights.shape().dims2()?;
        let (tensor, shed) = Shed::wrap(weights)?;
        let side_by_side = QMatMul::from_arc(tensor)?;
        let spare = shed.settle(&side_by_side, width)?.filter(|spare| is_faster_alone(spare.dtype()));
        let alone = spare.map(|weights| Compact { weights, height, width });
        Ok(Self { side_by_side, alone, bias })
    }

    /// `[1, count, width]` to `[1, count, height]`.
    pub(crate) fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let y = match &self.alone {
            Some(weights) if x.elem_count() == weights.width => weights.forward(x)?,
            _ => self.side_by_side.forward(x)?,
        };
        match &self.bias {
            Some(bias) => y.broadcast_add(bias),
            None => Ok(y),
        }
    }
}

/// Matrices that are multiplied with the same rows, in as few pieces as their formats allow: each piece makes its own
/// short form of the rows, and waits for all threads at its end.
#[derive(Debug)]
pub(crate) struct Joined {
    /// With the height of each matrix in it.
    pieces: Vec<(Linear, Vec<usize>)>,
}

/// Weights and their bias.
pub(crate) type Part = (Arc<QTensor>, Option<Tensor>);

impl Joined {
    pub(crate) fn new(parts: &[Part]) -> Result<Self> {
        let alike = |(one, bias): &Part, (other, other_bias): &Part| {
            let are_as_wide = one.shape().dims().last() == other.shape().dims().last();
            are_as_wide && one.dtype() == other.dtype() && bias.is_some() == other_bias.is_some()
        };
        let pieces = parts.chunk_by(alike).map(|parts| {
            let heights = parts.iter().map(|(weights, _)| Ok(weights.shape().dims2()?.0));
            Ok((join(parts)?, heights.collect::<Result<_>>()?))
        });
        Ok(Self { pieces: pieces.collect::<Result<_>>()? })
    }

    /// `[1, count, width]` to `[1, count, height]` for each matrix.
    pub(crate) fn forward(&self, x: &Tensor) -> Result<Vec<Tensor>> {
        let mut results = Vec::new();
        for (piece, heights) in &self.pieces {
            let (y, mut start) = (piece.forward(x)?, 0);
            for height in heights {
                results.push(y.narrow(D::Minus1, start, *height)?.contiguous()?);
                start += height;
            }
        }
        Ok(results)
    }
}

/// One matrix with the rows of `parts` (at least one), which are of one format and as wide as each other.
fn join(parts: &[Part]) -> Result<Linear> {
    let (first, bias) = &parts[0];
    if parts.len() == 1 {
        return Linear::new(first, bias.clone());
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
    Linear::new(&QTensor::new(storage, (height, width))?, bias)
}

impl Compact {
    /// `[1, 1, width]` to `[1, 1, height]`.
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let mut y = vec![0.0; self.height];
        self.weights.matmul_t((1, self.width, self.height), &x.flatten_all()?.to_vec1()?, &mut y)?;
        Tensor::from_vec(y, (1, 1, self.height), &Device::Cpu)
    }
}

impl fmt::Debug for Compact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Compact({} rows of {})", self.height, self.width)
    }
}

/// Whether one row is multiplied faster with weights as they are than with their tiles: 4.5 bits a weight instead of 6, for
/// kernels that wait for memory. On two cores of an AMD EPYC 47 in place of 29 billion weights a second.
fn is_faster_alone(dtype: GgmlDType) -> bool {
    cfg!(target_arch = "x86_64") && dtype == GgmlDType::Q4K
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_matrices_give_what_each_gives_by_itself() {
        let random = |shape: (usize, usize)| Tensor::rand(-1_f32, 1.0, shape, &Device::Cpu).unwrap();
        let part = |(dtype, height, has_bias): (GgmlDType, usize, bool)| {
            let bias = has_bias.then(|| random((1, height)).squeeze(0).unwrap());
            (Arc::new(QTensor::quantize(&random((height, 512)), dtype).unwrap()), bias)
        };
        let parts = [(GgmlDType::Q4K, 64, true), (GgmlDType::Q4K, 32, true), (GgmlDType::Q6K, 32, true)].map(part);
        let without = [(GgmlDType::Q6K, 48, false), (GgmlDType::Q6K, 48, true)].map(part);
        let joined = [Joined::new(&parts).unwrap(), Joined::new(&without).unwrap()];
        assert_eq!(joined.each_ref().map(|joined| joined.pieces.len()), [2, 2]);
        for rows in [1, 3] {
            let x = random((rows, 512)).unsqueeze(0).unwrap();
            for (joined, parts) in joined.iter().zip([&parts[..], &without[..]]) {
                let together = joined.forward(&x).unwrap();
                assert_eq!(together.len(), parts.len());
                for (together, (weights, bias)) in together.iter().zip(parts) {
                    let alone = Linear::new(weights, bias.clone()).unwrap().forward(&x).unwrap();
                    let [together, alone] = [together, &alone].map(|y| y.squeeze(0).unwrap().to_vec2::<f32>().unwrap());
                    assert_eq!(together, alone);
                }
            }
        }
    }

    #[test]
    fn one_row_alone_is_what_it_is_among_others() {
        let random = |shape: (usize, usize)| Tensor::rand(-1_f32, 1.0, shape, &Device::Cpu).unwrap();
        // The last one has no tiles: sixteen rows make one.
        for (dtype, height) in [(GgmlDType::Q4K, 64), (GgmlDType::Q6K, 64), (GgmlDType::Q8_0, 64), (GgmlDType::Q4K, 40)]
        {
            let weights = QTensor::quantize(&random((height, 512)), dtype).unwrap();
            let bias = random((1, height)).squeeze(0).unwrap();
            let linear = Linear::new(&weights, Some(bias)).unwrap();
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
