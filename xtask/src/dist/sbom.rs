//! The software bill of materials: the crates of the binary and the packages of the web app in it, as CycloneDX.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use data_encoding::{BASE64, HEXLOWER};
use serde_json::{Value, json};

use super::tools::ReleaseTools;
use super::{Output, Package};
use crate::command::run_quiet;
use crate::failure::{Context, Failure, Outcome};
use crate::npm_packages::{self, NpmPackage};
use crate::tidy::dependencies::{self, packages};

/// Name of the files that the tool writes into each crate's folder.
const FILE_NAME: &str = "release-sbom";

/// Writes the bill of materials.
pub fn build(package: &Package, tools: &ReleaseTools, output: &Output) -> Outcome {
    let root = &package.workspace.root;
    let arguments = ["cyclonedx", "--manifest-path", "crates/server/Cargo.toml", "--format", "json"];
    let mut cargo = tools.cargo(package.workspace, &arguments);
    cargo.args(["--spec-version", "1.5", "--target", package.architecture.target, "--override-filename", FILE_NAME]);
    // With this variable, the tool uses its time and leaves out the random serial number.
    let ran = run_quiet(cargo.env("SOURCE_DATE_EPOCH", &package.release.time));
    let written = root.join("crates/server").join(format!("{FILE_NAME}.json"));
    let text = ran.and_then(|_| fs::read_to_string(&written).context(format!("cannot read {}", written.display())));
    // The tool writes one for each crate of the workspace.
    for file in written_files(package) {
        fs::remove_file(&file).context(format!("cannot delete {}", file.display()))?;
    }
    // Crates of the workspace are named by their folders.
    let text = text?.replace(&format!("file://{}/", root.display()), "file:///source/");
    let mut bill: Value = serde_json::from_str(&text).context("cargo-cyclonedx")?;
    let target = package.architecture.target;
    keep_crates(&mut bill, &packages(package.workspace, &[target])?)?;
    add_npm_packages(&mut bill, &npm_packages::shipped(package.workspace)?)?;
    let text = serde_json::to_string_pretty(&bill).context("the SBOM")? + "\n";
    let file = output.folder.join(package.file_name(".cdx.json"));
    fs::write(&file, text).context(format!("cannot write {}", file.display()))
}

/// Removes the crates that are not in the binary. The tool also lists those of features that nothing enables, and of
/// tests.
///
/// # Errors
///
/// Fails if a crate of the binary is missing.
fn keep_crates(bill: &mut Value, crates: &[dependencies::Package]) -> Outcome {
    let is_same = |component: &Value, one: &dependencies::Package| {
        component["name"] == one.name.as_str() && component["version"] == one.version.as_str()
    };
    let program = bill["metadata"]["component"].clone();
    let components = bill["components"].as_array_mut().ok_or_else(|| Failure::new("the SBOM has no components"))?;
    components.retain(|component| crates.iter().any(|one| is_same(component, one)));
    let missing =
        crates.iter().find(|one| !components.iter().chain([&program]).any(|component| is_same(component, one)));
    if let Some(missing) = missing {
        return Err(Failure::new(format!("the SBOM lacks crate {} {}", missing.name, missing.version)));
    }
    let references: BTreeSet<String> = components
        .iter()
        .chain([&program])
        .filter_map(|component| Some(component["bom-ref"].as_str()?.to_owned()))
        .collect();
    let is_reference = |value: &Value| value.as_str().is_some_and(|reference| references.contains(reference));
    let dependencies = bill["dependencies"].as_array_mut();
    let dependencies = dependencies.ok_or_else(|| Failure::new("the SBOM has no dependencies"))?;
    dependencies.retain(|dependency| is_reference(&dependency["ref"]));
    for dependency in dependencies {
        if let Some(depends_on) = dependency.get_mut("dependsOn").and_then(Value::as_array_mut) {
            depends_on.retain(is_reference);
        }
    }
    Ok(())
}

/// Adds packages of the web app, on which the program depends.
fn add_npm_packages(bill: &mut Value, packages: &[NpmPackage]) -> Outcome {
    let incomplete = || Failure::new("cargo-cyclonedx wrote no components or no dependencies of the program");
    let program = bill["metadata"]["component"]["bom-ref"].clone();
    let components = bill["components"].as_array_mut().ok_or_else(incomplete)?;
    components.extend(packages.iter().map(npm_component));
    let dependencies = bill["dependencies"].as_array_mut().ok_or_else(incomplete)?;
    let program = dependencies.iter_mut().find(|dependency| dependency["ref"] == program).ok_or_else(incomplete)?;
    let depends_on = program["dependsOn"].as_array_mut().ok_or_else(incomplete)?;
    depends_on.extend(packages.iter().map(|package| Value::from(package_url(package))));
    Ok(())
}

/// Returns the component of a package.
fn npm_component(package: &NpmPackage) -> Value {
    let url = package_url(package);
    let mut component = json!({
        "type": "library",
        "bom-ref": url,
        "name": package.name,
        "version": package.version,
        "scope": "required",
        "licenses": [{ "expression": package.licence }],
        "purl": url,
    });
    let checksum = package.integrity.strip_prefix("sha512-").and_then(|sum| BASE64.decode(sum.as_bytes()).ok());
    if let Some(checksum) = checksum {
        component["hashes"] = json!([{ "alg": "SHA-512", "content": HEXLOWER.encode(&checksum) }]);
    }
    component
}

/// Returns the address of a package in the form that bills of materials use (purl).
fn package_url(package: &NpmPackage) -> String {
    format!("pkg:npm/{}@{}", package.name.replace('@', "%40"), package.version)
}

/// Returns the files that the tool has written.
fn written_files(package: &Package) -> impl Iterator<Item = PathBuf> {
    let root = &package.workspace.root;
    let crates = fs::read_dir(root.join("crates")).into_iter().flatten().flatten().map(|entry| entry.path());
    let files = crates.chain([root.join("xtask")]).map(|folder| folder.join(format!("{FILE_NAME}.json")));
    files.filter(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_crates_of_the_binary() {
        let component = |name: &str| json!({ "name": name, "version": "1.0.0", "bom-ref": format!("ref-{name}") });
        let mut bill = json!({
            "metadata": { "component": component("program") },
            "components": [component("used"), component("unused")],
            "dependencies": [
                { "ref": "ref-program", "dependsOn": ["ref-unused", "ref-used"] },
                { "ref": "ref-unused", "dependsOn": [] },
                { "ref": "ref-used" },
            ],
        });
        let crates = dependencies::read("program v1.0.0 (/somewhere)|MIT\nused v1.0.0|MIT\n");
        keep_crates(&mut bill, &crates).unwrap();
        assert_eq!(bill["components"], json!([component("used")]));
        assert_eq!(
            bill["dependencies"],
            json!([{ "ref": "ref-program", "dependsOn": ["ref-used"] }, { "ref": "ref-used" }])
        );
        let failure = keep_crates(&mut bill, &dependencies::read("other v1.0.0|MIT\n")).unwrap_err();
        assert_eq!(failure.to_string(), "the SBOM lacks crate other 1.0.0");
    }

    #[test]
    fn adds_packages_of_the_web_app() {
        let mut bill = json!({
            "metadata": { "component": { "bom-ref": "program" } },
            "components": [{ "name": "a crate" }],
            "dependencies": [{ "ref": "other", "dependsOn": [] }, { "ref": "program", "dependsOn": ["a crate"] }],
        });
        let lock = r#"{ "packages": { "node_modules/@a/b": {
            "version": "1.0.0", "license": "MIT", "integrity": "sha512-q80="
        } } }"#;
        add_npm_packages(&mut bill, &npm_packages::parse(lock).unwrap()).unwrap();
        assert_eq!(
            bill["components"][1],
            json!({
                "type": "library",
                "bom-ref": "pkg:npm/%40a/b@1.0.0",
                "name": "@a/b",
                "version": "1.0.0",
                "scope": "required",
                "hashes": [{ "alg": "SHA-512", "content": "abcd" }],
                "licenses": [{ "expression": "MIT" }],
                "purl": "pkg:npm/%40a/b@1.0.0",
            })
        );
        assert_eq!(bill["dependencies"][1]["dependsOn"], json!(["a crate", "pkg:npm/%40a/b@1.0.0"]));
        assert!(add_npm_packages(&mut json!({}), &[]).is_err());
    }
}
