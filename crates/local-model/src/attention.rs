//! Scaled dot-product attention on the CPU.

use std::sync::OnceLock;

use candle_core::utils::barrier_pool;
use candle_core::{Device, Result, Tensor};

/// Computes causal attention.
///
/// `keys` and `values` have the shape `[kv_heads, length, head_dim]`, and `queries` `[1, count, heads, head_dim]` for
/// the last `count` of these `length` tokens. Returns `[1, count, heads * head_dim]`.
///
/// The queries of heads that share keys are the rows of one matrix, so that a single token reads keys and values
/// once. Each thread multiplies a part of them on its own: see [`multiply_on_one_thread`].
pub(crate) fn causal_attention(queries: &Tensor, keys: &Tensor, values: &Tensor) -> Result<Tensor> {
    let (_, count, heads, dim) = queries.dims4()?;
    let (shared, length, _) = keys.dims3()?;
    let (sharing, before) = (heads / shared, length - count);
    // The factor log2(e) turns the base of the softmax into 2, whose exponential is cheaper, in a scaling that is
    // needed anyway.
    let queries = (queries.transpose(1, 2)?.contiguous()? * (std::f64::consts::LOG2_E / (dim as f64).sqrt()))?;
    let queries = queries.reshape((shared, sharing * count, dim))?;
    // With several tokens, each head is a part; with a single token, the heads are divided among the threads.
    let threads = barrier_pool().n_workers() + 1;
    let rows_per_part = if count == 1 { sharing.div_ceil(threads.div_ceil(shared)) } else { count };
    let parts = (sharing * count).div_ceil(rows_per_part);
    let mixed = map_in_parallel(shared * parts, |part| {
        let (head, start) = (part / parts, part % parts * rows_per_part);
        let rows = rows_per_part.min(sharing * count - start);
        // Keys come first, because their rows are contiguous in memory.
        let scores = keys.get(head)?.matmul(&queries.get(head)?.narrow(0, start, rows)?.t()?)?;
        let mut scores: Vec<f32> = scores.flatten_all()?.to_vec1()?;
        // Causal mask: a new token does not see those after it.
        for (token, scores) in scores.chunks_exact_mut(rows).skip(before).enumerate() {
            scores[..token].fill(f32::NEG_INFINITY);
        }
        softmax_columns(&mut scores, rows);
        Tensor::from_vec(scores, (length, rows), &Device::Cpu)?.t()?.matmul(&values.get(head)?)
    });
    let mixed = Tensor::cat(&mixed.into_iter().collect::<Result<Vec<_>>>()?, 0)?.reshape((heads, count, dim))?;
    mixed.transpose(0, 1)?.contiguous()?.reshape((1, count, heads * dim))
}

/// Makes the library multiply dense matrices on the calling thread.
///
/// Otherwise it divides a large product among its own threads, in addition to those here that already use every core.
pub(crate) fn multiply_on_one_thread() {
    gemm::set_threading_threshold(usize::MAX);
}

/// Runs `work` for each number below `count` on all threads, and returns the results in order.
fn map_in_parallel<T: Send + Sync>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let results: Vec<OnceLock<T>> = (0..count).map(|_| OnceLock::new()).collect();
    barrier_pool().execute_chunked(count, |range| {
        for index in range {
            // Each index is in one range only, so the cell is empty.
            let _ = results[index].set(work(index));
        }
    });
    results.into_iter().filter_map(OnceLock::into_inner).collect()
}

/// Applies a softmax with base 2 to each of `width` columns.
fn softmax_columns(scores: &mut [f32], width: usize) {
    let (mut max, mut sums) = (vec![f32::NEG_INFINITY; width], vec![0.0; width]);
    for scores in scores.chunks_exact(width) {
        // Row by row in the order of memory; columns one after the other would jump through it.
        max.iter_mut().zip(scores).for_each(|(max, score)| *max = score.max(*max));
    }
    for scores in scores.chunks_exact_mut(width) {
        for ((score, max), sum) in scores.iter_mut().zip(&max).zip(&mut sums) {
            *score = (*score - max).exp2();
            *sum += *score;
        }
    }
    for scores in scores.chunks_exact_mut(width) {
        scores.iter_mut().zip(&sums).for_each(|(score, sum)| *score /= sum);
    }
}

#[cfg(test)]
mod tests {
    use candle_nn::attention::{AttnMask, flash_attn};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn equals_reference_implementation(
            count in prop_oneof![Just(1_usize), 2_usize..30],
            before in 0_usize..60,
            shared in 1_usize..4,
            sharing in 1_usize..8,
            dim in prop_oneof![Just(16_usize), Just(24)],
        ) {
            let random = |count: usize, heads: usize| Tensor::randn(0_f32, 2.0, (1, count, heads, dim), &Device::Cpu).unwrap();
            let queries = random(count, shared * sharing);
            let [keys, values] = [(); 2].map(|()| random(before + count, shared));
            let scale = (dim as f32).sqrt().recip();
            let mask = AttnMask::causal_with_offset(before);
            let expected = flash_attn::<f32>(&queries, &keys, &values, scale, mask, None, None).unwrap();
            let expected = expected.transpose(1, 2).unwrap().contiguous().unwrap().flatten_from(2).unwrap();
            let by_head = |rows: &Tensor| rows.squeeze(0).unwrap().transpose(0, 1).unwrap().contiguous().unwrap();
            let mixed = causal_attention(&queries, &by_head(&keys), &by_head(&values)).unwrap();
            prop_assert_eq!(mixed.dims(), expected.dims());
            let apart = (mixed - expected).unwrap().abs().unwrap().max_all().unwrap().to_scalar::<f32>().unwrap();
            prop_assert!(apart < 1e-4, "{} apart", apart);
        }
    }
}
