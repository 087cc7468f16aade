//! Quantised weights whose bytes can be freed once the kernels have repacked them. Otherwise every weight would be in
//! memory twice.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use candle_core::quantized::{GgmlDType, QStorage, QTensor, QuantizedType};
use candle_core::{CpuStorage, Device, Module, Result, Tensor, bail};
use half::f16;

/// Handle to a tensor whose bytes can be freed.
pub(crate) struct ReleasableWeights {
    shared: Arc<Mutex<WeightBytes>>,
}

struct WeightBytes {
    bytes: Option<Box<dyn QuantizedType>>,
    /// Whether the kernels have read the bytes to repack them.
    is_repacked: bool,
    /// Whether the kernels compute with the original bytes.
    is_used: bool,
}

/// Storage of the tensor, as the arithmetic library sees it.
struct ReleasableStorage {
    shared: Arc<Mutex<WeightBytes>>,
    dtype: GgmlDType,
    block_size: usize,
    length: usize,
}

impl ReleasableWeights {
    /// Wraps a tensor, and returns the wrapped tensor and the handle to its bytes.
    pub(crate) fn wrap(tensor: &QTensor) -> Result<(Arc<QTensor>, Self)> {
        let dtype = tensor.dtype();
        let QStorage::Cpu(bytes) = QStorage::from_data(tensor.data()?, &Device::Cpu, dtype)? else {
            bail!("the weights are not in CPU memory")
        };
        let (block_size, length) = (bytes.block_size(), bytes.storage_size_in_bytes());
        let shared = Arc::new(Mutex::new(WeightBytes { bytes: Some(bytes), is_repacked: false, is_used: false }));
        let storage = ReleasableStorage { shared: shared.clone(), dtype, block_size, length };
        let wrapped = QTensor::new(QStorage::Cpu(Box::new(storage)), tensor.shape())?;
        Ok((Arc::new(wrapped), Self { shared }))
    }

    /// Makes the kernels repack the weights, and returns the original bytes if the kernels no longer need them.
    pub(crate) fn release_after_repacking(
        &self,
        weight: &impl Module,
        width: usize,
    ) -> Result<Option<Box<dyn QuantizedType>>> {
        // One row and several rows use different kernels; each keeps its repacked weights with the tensor.
        for rows in [1, 2] {
            weight.forward(&Tensor::zeros((1, rows, width), candle_core::DType::F32, &Device::Cpu)?)?;
        }
        let mut held = lock(&self.shared);
        Ok(if held.is_repacked && !held.is_used { held.bytes.take() } else { None })
    }
}

fn lock(held: &Mutex<WeightBytes>) -> MutexGuard<'_, WeightBytes> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ReleasableStorage {
    fn with_bytes<T>(&self, work: impl FnOnce(&dyn QuantizedType) -> Result<T>) -> Result<T> {
        let mut held = lock(&self.shared);
        held.is_used = true;
        match &held.bytes {
            Some(bytes) => work(bytes.as_ref()),
            None => bail!("these weights were freed"),
        }
    }
}

impl QuantizedType for ReleasableStorage {
    fn dtype(&self) -> GgmlDType {
        self.dtype
    }

    fn matmul_t(&self, mkn: (usize, usize, usize), lhs: &[f32], dst: &mut [f32]) -> Result<()> {
        self.with_bytes(|bytes| bytes.matmul_t(mkn, lhs, dst))
    }

    fn matmul_t_f16(&self, mkn: (usize, usize, usize), lhs: &[f16], dst: &mut [f16]) -> Result<()> {
        self.with_bytes(|bytes| bytes.matmul_t_f16(mkn, lhs, dst))
    }

    fn embedding(&self, ids: &[u32], rows: usize, hidden: usize) -> Result<CpuStorage> {
        self.with_bytes(|bytes| bytes.embedding(ids, rows, hidden))
    }

    fn dequantize(&self, elem_count: usize) -> Result<CpuStorage> {
        self.with_bytes(|bytes| bytes.dequantize(elem_count))
    }

    fn storage_size_in_bytes(&self) -> usize {
        self.length
    }

    /// The kernels read from this pointer only while they repack, in [`ReleasableWeights::release_after_repacking`].
    fn as_ptr(&self) -> *const u8 {
        let mut held = lock(&self.shared);
        held.is_repacked = true;
        held.bytes.as_ref().map_or(std::ptr::null(), |bytes| bytes.as_ptr())
    }

    fn block_size(&self) -> usize {
        self.block_size
    }

    fn from_float(&mut self, _: &[f32]) {}

    fn from_float_imatrix(&mut self, _: &[f32], _: &[f32], _: usize) {}

    fn size(&self) -> usize {
        self.length
    }
}
