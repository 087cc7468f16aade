//! Quantised weights that can be let go of once the kernels hold them in an order of their own: otherwise every weight
//! would be in memory twice.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use candle_core::quantized::{GgmlDType, QStorage, QTensor, QuantizedType};
use candle_core::{CpuStorage, Device, Module, Result, Tensor, bail};
use half::f16;

/// A tensor whose bytes can be let go of.
pub(crate) struct Shed {
    held: Arc<Mutex<Held>>,
}

struct Held {
    bytes: Option<Box<dyn QuantizedType>>,
    /// The kernels have read the bytes to make an order of their own.
    is_taken: bool,
    /// The kernels compute with the bytes as they are.
    is_used: bool,
}

/// What the tensor is made of, as the arithmetic library sees it.
struct Storage {
    held: Arc<Mutex<Held>>,
    dtype: GgmlDType,
    block_size: usize,
    length: usize,
}

impl Shed {
    /// Puts a tensor into a form whose bytes can be let go of, and gives both.
    pub(crate) fn wrap(tensor: &QTensor) -> Result<(Arc<QTensor>, Self)> {
        let dtype = tensor.dtype();
        let QStorage::Cpu(bytes) = QStorage::from_data(tensor.data()?, &Device::Cpu, dtype)? else {
            bail!("the weights are not in the processor's memory")
        };
        let (block_size, length) = (bytes.block_size(), bytes.storage_size_in_bytes());
        let held = Arc::new(Mutex::new(Held { bytes: Some(bytes), is_taken: false, is_used: false }));
        let storage = Storage { held: held.clone(), dtype, block_size, length };
        let wrapped = QTensor::new(QStorage::Cpu(Box::new(storage)), tensor.shape())?;
        Ok((Arc::new(wrapped), Self { held }))
    }

    /// Has the kernels make what they need, and gives the bytes back if they are not among it.
    pub(crate) fn settle(&self, weight: &impl Module, width: usize) -> Result<Option<Box<dyn QuantizedType>>> {
        // One row and several are different kernels; what they make is kept with the tensor.
        for rows in [1, 2] {
            weight.forward(&Tensor::zeros((1, rows, width), candle_core::DType::F32, &Device::Cpu)?)?;
        }
        let mut held = lock(&self.held);
        Ok(if held.is_taken && !held.is_used { held.bytes.take() } else { None })
    }
}

fn lock(held: &Mutex<Held>) -> MutexGuard<'_, Held> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Storage {
    fn with<T>(&self, work: impl FnOnce(&dyn QuantizedType) -> Result<T>) -> Result<T> {
        let mut held = lock(&self.held);
        held.is_used = true;
        match &held.bytes {
            Some(bytes) => work(bytes.as_ref()),
            None => bail!("these weights were let go of"),
        }
    }
}

impl QuantizedType for Storage {
    fn dtype(&self) -> GgmlDType {
        self.dtype
    }

    fn matmul_t(&self, mkn: (usize, usize, usize), lhs: &[f32], dst: &mut [f32]) -> Result<()> {
        self.with(|bytes| bytes.matmul_t(mkn, lhs, dst))
    }

    fn matmul_t_f16(&self, mkn: (usize, usize, usize), lhs: &[f16], dst: &mut [f16]) -> Result<()> {
        self.with(|bytes| bytes.matmul_t_f16(mkn, lhs, dst))
    }

    fn embedding(&self, ids: &[u32], rows: usize, hidden: usize) -> Result<CpuStorage> {
        self.with(|bytes| bytes.embedding(ids, rows, hidden))
    }

    fn dequantize(&self, elem_count: usize) -> Result<CpuStorage> {
        self.with(|bytes| bytes.dequantize(elem_count))
    }

    fn storage_size_in_bytes(&self) -> usize {
        self.length
    }

    /// The kernels read from here while they make their own order, in a call of [`Shed::settle`], and not later.
    fn as_ptr(&self) -> *const u8 {
        let mut held = lock(&self.held);
        held.is_taken = true;
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
