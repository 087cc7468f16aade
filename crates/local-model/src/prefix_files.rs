//! Files with the prompt prefixes that all requests share.
//!
//! They are read once per weight file and stored next to it, because reading them again after every load takes half a
//! minute.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use candle_core::{Device, Result, Tensor, safetensors};

use crate::assistant_prompt::{self, ModelIdentity};
use crate::kv_cache::KvCache;
use crate::missing_tools::missing_tools;
use crate::tokenizer::Tokenizer;
use crate::{calculation, few_shot, injection_filter, next_step, refusal, story_question};

/// Version of the files, increased when the same tokens and weights yield other keys and values.
const FORMAT_VERSION: i64 = 1;

/// Number of prefixes that all requests share.
const PREFIX_COUNT: usize = 10;

/// Returns whether a file is missing next to these weights and could be written.
pub(crate) fn has_missing_files(weights: &Path) -> bool {
    let folder = prefix_folder(weights);
    fs::create_dir_all(&folder).is_ok() && (0..PREFIX_COUNT).any(|index| !file_path(&folder, index).is_file())
}

/// Returns the folder of a weight file's prefixes.
fn prefix_folder(weights: &Path) -> PathBuf {
    let mut folder = weights.as_os_str().to_owned();
    folder.push(".read");
    folder.into()
}

/// Prefix files of one weight file.
#[derive(Debug)]
pub(crate) struct PrefixFiles {
    folder: PathBuf,
    /// Identity of the weight file: [`FORMAT_VERSION`], its size in bytes and its modification time in nanoseconds
    /// since 1970.
    weights_identity: Vec<i64>,
    /// Tokens of each prefix, and whether its file exists.
    prefixes: Vec<(Vec<u32>, bool)>,
}

impl PrefixFiles {
    /// Returns the prefix files next to a weight file.
    pub(crate) fn for_weights(weights: &Path, tokenizer: &Tokenizer, identity: &ModelIdentity) -> Self {
        let metadata = weights.metadata().ok();
        // Size and time instead of a checksum, which takes seconds for a gigabyte.
        let modified = metadata.as_ref().and_then(|metadata| metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok());
        let weights_identity = vec![
            FORMAT_VERSION,
            metadata.map_or(0, |metadata| metadata.len() as i64),
            modified.map_or(0, |modified| modified.as_nanos() as i64),
        ];
        let prefixes: [_; PREFIX_COUNT] = [
            few_shot::tool_table_prefix(tokenizer),
            few_shot::external_need_prefix(tokenizer),
            injection_filter::prefix(tokenizer),
            next_step::several_steps_prefix(tokenizer),
            next_step::next_tool_prefix(tokenizer),
            assistant_prompt::static_prefix(tokenizer, identity),
            few_shot::tool_table(tokenizer, &missing_tools()),
            refusal::harm_prefix(tokenizer),
            story_question::work_prefix(tokenizer),
            calculation::calculation_prefix(tokenizer),
        ]
        .map(|prefix| (prefix, false));
        Self { folder: prefix_folder(weights), weights_identity, prefixes: prefixes.into() }
    }

    /// Returns the tokens of all prefixes.
    pub(crate) fn prefixes(&self) -> impl Iterator<Item = &[u32]> {
        self.prefixes.iter().map(|(tokens, _)| tokens.as_slice())
    }

    /// Returns the longest prefix that `head` starts with, and its index.
    pub(crate) fn find_prefix(&self, head: &[u32]) -> Option<(usize, &[u32])> {
        self.prefixes()
            .enumerate()
            .filter(|(_, prefix)| head.starts_with(prefix))
            .max_by_key(|(_, prefix)| prefix.len())
    }

    /// Loads a stored prefix into the empty `cache`.
    pub(crate) fn load(&mut self, index: usize, cache: KvCache) -> Option<KvCache> {
        let (folder, identity) = (&self.folder, &self.weights_identity);
        let (tokens, is_stored) = self.prefixes.get_mut(index)?;
        let cache = read_file(&file_path(folder, index), identity, tokens, cache).ok()?;
        // A loaded file need not be written again.
        *is_stored = true;
        Some(cache)
    }

    /// Stores a prefix from `cache`, unless its file exists. After a failed write, the prefix is read again by the
    /// next process.
    pub(crate) fn store(&mut self, index: usize, cache: &KvCache) {
        let (folder, identity) = (&self.folder, &self.weights_identity);
        let Some((tokens, is_stored)) = self.prefixes.get_mut(index).filter(|(_, is_stored)| !is_stored) else {
            return;
        };
        *is_stored = true;
        // Marked as stored before: a full or read-only disk is not tried again for every request.
        if let Err(error) = write_file(&file_path(folder, index), identity, tokens, cache) {
            tracing::info!(folder = %folder.display(), %error, "failed to store a prompt prefix of the built-in model");
        }
    }
}

fn file_path(folder: &Path, index: usize) -> PathBuf {
    folder.join(format!("{index}.safetensors"))
}

fn tensor_names(layer: usize) -> [String; 2] {
    [format!("keys.{layer}"), format!("values.{layer}")]
}

/// Writes a prefix, with the identity of the weights and its tokens, for [`read_file`].
fn write_file(path: &Path, identity: &[i64], tokens: &[u32], cache: &KvCache) -> Result<()> {
    let on_cpu = &Device::Cpu;
    let mut tensors = HashMap::from([
        ("made_for".to_owned(), Tensor::new(identity, on_cpu)?),
        ("tokens".to_owned(), Tensor::new(tokens, on_cpu)?),
    ]);
    for (layer, (keys, values)) in cache.layers(0, tokens.len())?.into_iter().enumerate() {
        tensors.extend(tensor_names(layer).into_iter().zip([keys, values]));
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    // Another process may read or write the same file, so it appears only when it is complete.
    let unfinished = path.with_extension(std::process::id().to_string());
    let renamed = safetensors::save(&tensors, &unfinished).and_then(|()| Ok(fs::rename(&unfinished, path)?));
    renamed.inspect_err(|_| drop(fs::remove_file(&unfinished)))
}

/// Reads a prefix. Fails when the file is missing, damaged, or of other weights or tokens.
fn read_file(path: &Path, identity: &[i64], tokens: &[u32], mut cache: KvCache) -> Result<KvCache> {
    let mut tensors = safetensors::load(path, &Device::Cpu)?;
    let mut take = |name: &str| tensors.remove(name).ok_or_else(|| candle_core::Error::Msg(format!("no {name}")));
    if take("made_for")?.to_vec1::<i64>()? != identity || take("tokens")?.to_vec1::<u32>()? != tokens {
        candle_core::bail!("the file belongs to other weights or tokens");
    }
    let mut layers = Vec::new();
    // The number of layers is checked by the cache, which knows that of the model.
    while let [Ok(keys), Ok(values)] = tensor_names(layers.len()).map(|name| take(&name)) {
        layers.push((keys, values));
    }
    cache.restore(tokens, &layers)?;
    Ok(cache)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::model;

    #[test]
    fn loads_prefix_stored_for_the_same_weights() {
        let (model, tokenizer) = model();
        let root = std::env::temp_dir().join(format!("local-standing-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        let path = root.join("weights.gguf");
        fs::write(&path, "some").unwrap();
        let beside = || PrefixFiles::for_weights(&path, &tokenizer, &ModelIdentity::for_tests());
        let recalled = || beside().load(0, model.new_cache().unwrap());
        assert!(recalled().is_none() && has_missing_files(&path));

        let mut standing = beside();
        let beginning = standing.prefixes().next().unwrap().to_vec();
        let head = [beginning.as_slice(), &[7]].concat();
        assert_eq!(standing.find_prefix(&head), Some((0, beginning.as_slice())));
        assert_eq!(standing.find_prefix(&head[1..]), None);
        let mut read = model.new_cache().unwrap();
        let and_more = [beginning.as_slice(), &[7, 8]].concat();
        model.read(&and_more, &mut read).unwrap();
        standing.store(0, &read);
        let mut kept = recalled().unwrap();
        assert_eq!(kept.tokens(), beginning);
        read.truncate(beginning.len());
        let [one, other] =
            [&mut read, &mut kept].map(|cache| model.logits(&model.read(&[9, 10, 11], cache).unwrap()).unwrap());
        assert_eq!(one, other);

        let whole = fs::read(file_path(&standing.folder, 0)).unwrap();
        fs::write(file_path(&standing.folder, 0), &whole[..whole.len() / 2]).unwrap();
        assert!(recalled().is_none(), "cut short");
        fs::write(file_path(&standing.folder, 0), &whole).unwrap();
        assert!(recalled().is_some());
        fs::write(&path, "other").unwrap();
        assert!(recalled().is_none(), "of other weights");
        assert_eq!(fs::read_dir(&standing.folder).unwrap().count(), 1, "nothing unfinished is left");
        assert!(has_missing_files(&path), "the others are missing");
        for index in 1..PREFIX_COUNT {
            fs::write(file_path(&standing.folder, index), "some").unwrap();
        }
        assert!(!has_missing_files(&path));
        assert!(!has_missing_files(Path::new("/proc/weights.gguf")), "nothing can be written there");
        fs::remove_dir_all(root).unwrap();
    }
}
