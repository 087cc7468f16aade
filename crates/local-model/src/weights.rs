//! Weight file of the built-in model: its description and location.

use std::path::{Path, PathBuf};

use candle_core::quantized::gguf_file::Content;

use crate::error::LoadError;
use crate::model_config::{ModelConfig, metadata_text};
use crate::tokenizer::Tokenizer;

/// Description of a weight file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WeightFile {
    /// Name of the model, as its authors write it.
    pub name: &'static str,
    /// Who made it.
    pub maker: &'static str,
    /// File name in a models folder.
    pub file_name: &'static str,
    /// Size in bytes.
    pub size: u64,
    /// SHA-256 of the file, lower-case hexadecimal.
    pub sha256: &'static str,
    /// SPDX identifier of the licence.
    pub license: &'static str,
    /// Web page of the model.
    pub origin: &'static str,
    /// Download URL.
    pub url: &'static str,
    /// What users can expect of the model, in one line.
    pub note: &'static str,
}

/// The default weights.
pub const DEFAULT_WEIGHTS: WeightFile = WeightFile {
    name: "Qwen2.5-Coder-1.5B-Instruct (Q4_K_M)",
    maker: "Alibaba Cloud (Qwen)",
    file_name: "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    size: 1_117_320_768,
    sha256: "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    license: "Apache-2.0",
    origin: "https://huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
    url: "https://huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/main/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    note: "A small model on this machine's processor, for trying things out: a tool call or two a message, best \
           when the message names the tool. Takes about 2.5 GB of memory.",
};

impl WeightFile {
    /// Returns the path of the file below `root`, a data or cache folder.
    pub fn path_in(&self, root: &Path) -> PathBuf {
        root.join("models").join(self.file_name)
    }

    /// Returns the path of the file in the first of the two folders that contains it. A file of another size is an
    /// incomplete download or another file, and is skipped.
    pub fn find(&self, data_dir: &Path, cache_dir: &Path) -> Option<PathBuf> {
        [data_dir, cache_dir]
            .map(|root| self.path_in(root))
            .into_iter()
            .find(|path| path.metadata().is_ok_and(|file| file.is_file() && file.len() == self.size))
    }
}

/// Returns the path of [`DEFAULT_WEIGHTS`] in the first of the two folders that contains them.
pub fn find_default_weights(data_dir: &Path, cache_dir: &Path) -> Option<PathBuf> {
    DEFAULT_WEIGHTS.find(data_dir, cache_dir)
}

/// Returns the model family of a weight file by its header.
///
/// # Errors
///
/// The reason why the built-in engine cannot run it, and what to do.
pub fn inspect_weights(path: &Path) -> Result<String, LoadError> {
    let file = std::fs::File::open(path).map_err(|error| LoadError::Read { path: path.to_owned(), error })?;
    let content = Content::read(&mut std::io::BufReader::new(file))?;
    ModelConfig::from_metadata(&content.metadata)?;
    Tokenizer::from_metadata(&content.metadata)?;
    Ok(metadata_text(&content.metadata, "general.architecture")?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skips_incomplete_file() {
        let root = std::env::temp_dir().join(format!("local-weights-{}", std::process::id()));
        let (data, cache) = (root.join("data"), root.join("cache"));
        let weights = WeightFile { size: 4, ..DEFAULT_WEIGHTS };
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
