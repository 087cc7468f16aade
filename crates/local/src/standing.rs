//! What the model reads before questions that are the same for everybody: read once for a file of weights, and kept beside
//! it, as reading it again takes half a minute whenever the model comes back.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use candle_core::{Device, Result, Tensor, safetensors};

use crate::cache::KvCache;
use crate::tokenizer::Tokenizer;
use crate::{again, pattern, screen};

/// Grows when the same tokens and weights give other keys and values than before.
const VERSION: i64 = 1;

/// How many beginnings are the same for everybody.
const BEGINNINGS: usize = 5;

/// Whether something of it is not beside these weights yet, and could be put there.
pub(crate) fn is_due(weights: &Path) -> bool {
    let folder = folder(weights);
    fs::create_dir_all(&folder).is_ok() && (0..BEGINNINGS).any(|index| !file(&folder, index).is_file())
}

fn folder(weights: &Path) -> PathBuf {
    let mut folder = weights.as_os_str().to_owned();
    folder.push(".read");
    folder.into()
}

/// The folder with what was read for one file of weights.
#[derive(Debug)]
pub(crate) struct Standing {
    folder: PathBuf,
    /// What the file of weights is known by: its length in bytes and when it was written (nanoseconds since 1970), behind
    /// [`VERSION`].
    made_for: Vec<i64>,
    /// Each beginning, and whether it is in the folder.
    beginnings: Vec<(Vec<u32>, bool)>,
}

impl Standing {
    pub(crate) fn beside(weights: &Path, tokenizer: &Tokenizer) -> Self {
        let about = weights.metadata().ok();
        let written = about.as_ref().and_then(|about| about.modified().ok()?.duration_since(UNIX_EPOCH).ok());
        let made_for = vec![
            VERSION,
            about.map_or(0, |about| about.len() as i64),
            written.map_or(0, |written| written.as_nanos() as i64),
        ];
        let beginnings: [_; BEGINNINGS] =
            [pattern::opening, pattern::needs, screen::table, again::several_table, again::needed_table]
                .map(|beginning| (beginning(tokenizer), false));
        Self { folder: folder(weights), made_for, beginnings: beginnings.into() }
    }

    /// What every question begins with that is the same for everybody.
    pub(crate) fn beginnings(&self) -> impl Iterator<Item = &[u32]> {
        self.beginnings.iter().map(|(tokens, _)| tokens.as_slice())
    }

    /// The beginning that `head` begins with, by its number.
    pub(crate) fn of(&self, head: &[u32]) -> Option<(usize, &[u32])> {
        self.beginnings().enumerate().find(|(_, beginning)| head.starts_with(beginning))
    }

    /// A beginning that was kept, in the empty `cache`.
    pub(crate) fn recall(&mut self, index: usize, cache: KvCache) -> Option<KvCache> {
        let (folder, made_for) = (&self.folder, &self.made_for);
        let (tokens, is_kept) = self.beginnings.get_mut(index)?;
        let cache = read(&file(folder, index), made_for, tokens, cache).ok()?;
        *is_kept = true;
        Some(cache)
    }

    /// Keeps a beginning that was read, if it is not there yet. Where it cannot be written it is read again the next time.
    pub(crate) fn keep(&mut self, index: usize, cache: &KvCache) {
        let (folder, made_for) = (&self.folder, &self.made_for);
        let Some((tokens, is_kept)) = self.beginnings.get_mut(index).filter(|(_, is_kept)| !is_kept) else { return };
        *is_kept = true;
        if let Err(error) = write(&file(folder, index), made_for, tokens, cache) {
            tracing::info!(folder = %folder.display(), %error, "what the built-in model has read is not kept");
        }
    }
}

fn file(folder: &Path, index: usize) -> PathBuf {
    folder.join(format!("{index}.safetensors"))
}

fn names(layer: usize) -> [String; 2] {
    [format!("keys.{layer}"), format!("values.{layer}")]
}

fn write(path: &Path, made_for: &[i64], tokens: &[u32], cache: &KvCache) -> Result<()> {
    let on_cpu = &Device::Cpu;
    let mut tensors = HashMap::from([
        ("made_for".to_owned(), Tensor::new(made_for, on_cpu)?),
        ("tokens".to_owned(), Tensor::new(tokens, on_cpu)?),
    ]);
    for (layer, (keys, values)) in cache.layers(0, tokens.len())?.into_iter().enumerate() {
        tensors.extend(names(layer).into_iter().zip([keys, values]));
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    // Another process may read it, or write the same.
    let unfinished = path.with_extension(std::process::id().to_string());
    let renamed = safetensors::save(&tensors, &unfinished).and_then(|()| Ok(fs::rename(&unfinished, path)?));
    renamed.inspect_err(|_| drop(fs::remove_file(&unfinished)))
}

/// Fails where the file is not there, damaged, or of other weights or tokens.
fn read(path: &Path, made_for: &[i64], tokens: &[u32], mut cache: KvCache) -> Result<KvCache> {
    let mut tensors = safetensors::load(path, &Device::Cpu)?;
    let mut take = |name: &str| tensors.remove(name).ok_or_else(|| candle_core::Error::Msg(format!("no {name}")));
    if take("made_for")?.to_vec1::<i64>()? != made_for || take("tokens")?.to_vec1::<u32>()? != tokens {
        candle_core::bail!("made for something else");
    }
    let mut layers = Vec::new();
    while let [Ok(keys), Ok(values)] = names(layers.len()).map(|name| take(&name)) {
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
    fn what_is_recalled_is_what_was_read_for_the_same_weights() {
        let (model, tokenizer) = model();
        let root = std::env::temp_dir().join(format!("local-standing-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        let path = root.join("weights.gguf");
        fs::write(&path, "some").unwrap();
        let beside = || Standing::beside(&path, &tokenizer);
        let recalled = || beside().recall(0, model.new_cache().unwrap());
        assert!(recalled().is_none() && is_due(&path));

        let mut standing = beside();
        let beginning = standing.beginnings().next().unwrap().to_vec();
        let head = [beginning.as_slice(), &[7]].concat();
        assert_eq!(standing.of(&head), Some((0, beginning.as_slice())));
        assert_eq!(standing.of(&head[1..]), None);
        let mut read = model.new_cache().unwrap();
        let and_more = [beginning.as_slice(), &[7, 8]].concat();
        model.read(&and_more, &mut read).unwrap();
        standing.keep(0, &read);
        let mut kept = recalled().unwrap();
        assert_eq!(kept.tokens(), beginning);
        read.truncate(beginning.len());
        let [one, other] =
            [&mut read, &mut kept].map(|cache| model.logits(&model.read(&[9, 10, 11], cache).unwrap()).unwrap());
        assert_eq!(one, other);

        let whole = fs::read(file(&standing.folder, 0)).unwrap();
        fs::write(file(&standing.folder, 0), &whole[..whole.len() / 2]).unwrap();
        assert!(recalled().is_none(), "cut short");
        fs::write(file(&standing.folder, 0), &whole).unwrap();
        assert!(recalled().is_some());
        fs::write(&path, "other").unwrap();
        assert!(recalled().is_none(), "of other weights");
        assert_eq!(fs::read_dir(&standing.folder).unwrap().count(), 1, "nothing unfinished is left");
        assert!(is_due(&path), "the others are missing");
        for index in 1..BEGINNINGS {
            fs::write(file(&standing.folder, index), "some").unwrap();
        }
        assert!(!is_due(&path));
        assert!(!is_due(Path::new("/proc/weights.gguf")), "nothing can be written there");
        fs::remove_dir_all(root).unwrap();
    }
}
