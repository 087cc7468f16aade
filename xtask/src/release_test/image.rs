//! Test of the container image: its content runs as its configuration says, with a read-only root and one volume.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;

use super::target_system::{Program, TargetSystem, unpack};
use super::{ReleaseTest, list_files, megabytes};
use crate::failure::{Context, Failure, Outcome};

/// Greatest size of the compressed image, in MB.
const MAX_MEGABYTES: f64 = 60.0;
/// Labels of the image, after `org.opencontainers.image.`.
const LABELS: [&str; 5] = ["title", "description", "licenses", "version", "revision"];
const VOLUME: &str = "/data";
const USER: u32 = 65532;
/// Files that the image has: licences of its parts, and certificates.
const FILES: [&str; 6] = [
    "usr/share/doc/ai-chat-mcp/LICENSE",
    "usr/share/doc/ai-chat-mcp/THIRD-PARTY-LICENSES.txt",
    "usr/share/doc/libc6/copyright",
    "usr/share/doc/ca-certificates/copyright",
    "usr/share/common-licenses/Apache-2.0",
    "etc/ssl/certs/ca-certificates.crt",
];

/// Unpacks and uses the image.
pub fn check(release: &ReleaseTest) -> Outcome<String> {
    let archive = release.files.image.as_deref().ok_or_else(|| Failure::new("there is no image"))?;
    let size = megabytes(archive)?;
    if size > MAX_MEGABYTES {
        return Err(Failure::new(format!("it has {size:.1} MB, more than {MAX_MEGABYTES} MB")));
    }
    let content = release.work.join("image");
    fs::create_dir_all(&content).context(content.display())?;
    unpack(archive, &content)?;
    let manifest = read_json(&content.join("manifest.json"))?;
    let (manifest, tag) = (&manifest[0], format!("ai-chat-mcp:{}", release.files.version));
    if !manifest["RepoTags"].as_array().is_some_and(|tags| tags.iter().any(|one| text(one).ends_with(&tag))) {
        return Err(Failure::new(format!("it is not named {tag}")));
    }
    let root = release.work.join("image-system");
    fs::create_dir_all(&root).context(root.display())?;
    for layer in strings(&manifest["Layers"]) {
        unpack(&content.join(layer), &root)?;
    }
    let system = TargetSystem { root };
    check_files(&system)?;
    let config = read_json(&content.join(text(&manifest["Config"])))?;
    let config = &config["config"];
    check_configuration(config, &release.files.version)?;
    let program = strings(&config["Entrypoint"]).next().unwrap_or_default();
    release.use_program(&Program {
        system: &system,
        path: program.to_owned(),
        user: USER,
        group: USER,
        folder: text(&config["WorkingDir"]).to_owned(),
        volume: VOLUME.to_owned(),
    })?;
    Ok(format!("{size:.1} MB; used as user {USER} with a read-only root"))
}

/// Checks what the image contains.
fn check_files(system: &TargetSystem) -> Outcome {
    let is_readable = |file: &str| {
        fs::metadata(system.root.join(file)).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o004 != 0)
    };
    if let Some(missing) = FILES.iter().find(|file| !is_readable(file)) {
        return Err(Failure::new(format!("its user has no {missing}")));
    }
    let files = list_files(&system.root)?;
    if let Some(shell) = files.iter().find(|file| file.ends_with("/sh") || file.ends_with("/bash")) {
        return Err(Failure::new(format!("it has a shell: {shell}")));
    }
    Ok(())
}

/// Checks the settings with which containers start.
fn check_configuration(config: &Value, version: &str) -> Outcome {
    let environment: Vec<&str> = strings(&config["Env"]).collect();
    let expected = [format!("CHAT_DATA_DIR={VOLUME}"), format!("HOME={VOLUME}"), "CHAT_LISTEN=0.0.0.0:3000".to_owned()];
    if let Some(missing) = expected.iter().find(|one| !environment.contains(&one.as_str())) {
        return Err(Failure::new(format!("its environment lacks {missing}")));
    }
    let label = |name: &str| text(&config["Labels"][format!("org.opencontainers.image.{name}")]);
    if let Some(missing) = LABELS.into_iter().find(|name| label(name).is_empty()) {
        return Err(Failure::new(format!("its label {missing} is missing")));
    }
    let facts = [
        (label("version") == version, "the version of its label"),
        (text(&config["User"]) == format!("{USER}:{USER}"), "its user"),
        (strings(&config["Cmd"]).eq(["serve"]), "its command"),
        (config["Volumes"].get(VOLUME).is_some(), "its volume"),
        (config["ExposedPorts"].get("3000/tcp").is_some(), "its port"),
        (config["Healthcheck"]["Test"][2] == "health", "its health check"),
    ];
    match facts.iter().find(|(holds, _)| !holds) {
        Some((_, what)) => Err(Failure::new(format!("{what} is not the documented one"))),
        None => Ok(()),
    }
}

fn read_json(file: &Path) -> Outcome<Value> {
    serde_json::from_str(&fs::read_to_string(file).context(file.display())?).context(file.display())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn strings(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}
