//! The file of weights that the built-in model is made from: which one, and where it is looked for.

use std::path::{Path, PathBuf};

use candle_core::quantized::gguf_file::Content;

use crate::config::{Config, text};
use crate::error::LoadError;
use crate::tokenizer::Tokenizer;

/// A file of weights and everything a person should know about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weights {
    /// The model's name, as its makers write it.
    pub name: &'static str,
    /// The file's name in a folder of models.
    pub file_name: &'static str,
    /// The file's length in bytes.
    pub size: u64,
    /// SHA-256 of the file, lower-case hexadecimal.
    pub sha256: &'static str,
    /// SPDX name of the licence.
    pub license: &'static str,
    /// The page of the people who made it.
    pub origin: &'static str,
    /// The file at their place.
    pub url: &'static str,
    /// What to expect of it, in a line for people.
    pub note: &'static str,
}

/// The weights of the product.
pub const DEFAULT: Weights = Weights {
    name: "Qwen2.5-Coder-1.5B-Instruct (Q4_K_M)",
    file_name: "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    size: 1_117_320_768,
    sha256: "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    license: "Apache-2.0",
    origin: "https://huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
    url: "https://huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/main/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    note: "A small model on this machine's processor, for trying things out: a tool call or two a message, best \
           when the message names the tool. Takes about 2.5 GB of memory.",
};

impl Weights {
    /// Where the file stands below `root`, a folder of data or of caches.
    pub fn path_in(&self, root: &Path) -> PathBuf {
        root.join("models").join(self.file_name)
    }

    /// The file in the first of the two folders that has it whole. A file of another length is a download that
    /// broke off, or something else altogether, and is passed over.
    pub fn find(&self, data_dir: &Path, cache_dir: &Path) -> Option<PathBuf> {
        [data_dir, cache_dir]
            .map(|root| self.path_in(root))
            .into_iter()
            .find(|path| path.metadata().is_ok_and(|file| file.is_file() && file.len() == self.size))
    }
}

/// The product's weights ([`DEFAULT`]) in the first of the two folders that has them whole.
pub fn find(data_dir: &Path, cache_dir: &Path) -> Option<PathBuf> {
    DEFAULT.find(data_dir, cache_dir)
}

/// The family of the model in a file, by its header alone; else why the built-in engine cannot run it, and what to do.
pub fn inspect(path: &Path) -> Result<String, String> {
    let family = || -> Result<String, LoadError> {
        let file = std::fs::File::open(path).map_err(|error| LoadError::Read { path: path.to_owned(), error })?;
        let content = Content::read(&mut std::io::BufReader::new(file))?;
        Config::read(&content.metadata)?;
        Tokenizer::read(&content.metadata)?;
        Ok(text(&content.metadata, "general.architecture")?.to_owned())
    };
    family().map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_whole_is_passed_over() {
        let root = std::env::temp_dir().join(format!("local-weights-{}", std::process::id()));
        let (data, cache) = (root.join("data"), root.join("cache"));
        let weights = Weights { size: 4, ..DEFAULT };
        for dir in [&data, &cache] {
            std::fs::create_dir_all(dir.join("models")).unwrap();
        }
        assert_eq!(weights.find(&data, &cache), None);
        std::fs::write(weights.path_in(&data), "bro").unwrap();
        std::fs::write(weights.path_in(&cache), "good").unwrap();
        assert_eq!(weights.find(&data, &cache), Some(weights.path_in(&cache)));
        std::fs::write(weights.path_in(&data), "good").unwrap();
        assert_eq!(weights.find(&data, &cache), Some(weights.path_in(&data)));
        std::fs::remove_dir_all(root).unwrap();
    }
}
