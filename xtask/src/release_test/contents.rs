//! Tests of files that need no system: checksums, a second build, SBOM, licences, and what the program itself says of its
//! dependencies and the glibc that it needs.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Command;

use flate2::read::ZlibDecoder;
use serde_json::Value;

use super::{IMAGE_EXTENSION, ReleaseTest, megabytes};
use crate::command::run_quiet;
use crate::dist::{AUDIT_SECTION, CHECKSUMS_FILE, LICENCES_FILE, OLDEST_GLIBC};
use crate::failure::{Context, Failure, Outcome};

/// Compares all files with their checksums.
pub fn check_checksums(release: &ReleaseTest) -> Outcome<String> {
    let folder = &release.files.folder;
    let sums = fs::read_to_string(folder.join(CHECKSUMS_FILE)).context(CHECKSUMS_FILE)?;
    run_quiet(Command::new("sha256sum").args(["--check", "--strict", CHECKSUMS_FILE]).current_dir(folder))?;
    let files = fs::read_dir(folder).context(folder.display())?.count() - 1;
    let named = sums.lines().count();
    if files != named {
        return Err(Failure::new(format!("{CHECKSUMS_FILE} names {named} of {files} files")));
    }
    Ok(format!("{named} files"))
}

/// Checks that a second build of the same commit, in the folder `other`, has the same bytes, apart from the image: only the
/// other files of `cargo xtask dist` are reproducible.
pub fn check_second_build(release: &ReleaseTest, other: &Path) -> Outcome<String> {
    let (first, second) = (reproducible_sums(&release.files.folder)?, reproducible_sums(other)?);
    match first.symmetric_difference(&second).next() {
        Some(line) => Err(Failure::new(format!("the builds differ: {line}"))),
        None => Ok(format!("{} equal files", first.len())),
    }
}

/// Returns the lines of a release's checksums, without the image's.
fn reproducible_sums(folder: &Path) -> Outcome<BTreeSet<String>> {
    let sums = fs::read_to_string(folder.join(CHECKSUMS_FILE)).context(folder.display())?;
    Ok(sums.lines().filter(|line| !line.ends_with(IMAGE_EXTENSION)).map(str::to_owned).collect())
}

/// Checks that the program itself lists the crates of the bill of materials, where `cargo audit bin` and other scanners
/// look for them.
pub fn check_audit_data(release: &ReleaseTest) -> Outcome<String> {
    let data = release.work.join("audit-data");
    let mut objcopy = Command::new(release.readelf.with_file_name("objcopy"));
    objcopy.arg("--dump-section").arg(format!("{AUDIT_SECTION}={}", data.display()));
    run_quiet(objcopy.arg(release.unpacked.join("ai-chat-mcp")).arg("/dev/null"))?;
    let mut list = String::new();
    let compressed = fs::read(&data).context(data.display())?;
    ZlibDecoder::new(&*compressed).read_to_string(&mut list).context(AUDIT_SECTION)?;
    let list: Value = serde_json::from_str(&list).context(AUDIT_SECTION)?;
    let packages = list["packages"].as_array().into_iter().flatten();
    let listed: BTreeSet<_> = packages.map(|package| (text(package, "name"), text(package, "version"))).collect();
    let bill = read_sbom(&release.files.sbom)?;
    let crates = components(&bill).into_iter().filter(|component| text(component, "purl").starts_with("pkg:cargo/"));
    let mut number = 0;
    for component in crates {
        let (name, version) = (text(component, "name"), text(component, "version"));
        if !listed.contains(&(name, version)) {
            return Err(Failure::new(format!("the program does not list {name} {version}")));
        }
        number += 1;
    }
    Ok(format!("{number} crates of the SBOM are among the {} that the program lists", listed.len()))
}

/// Checks that the bill of materials is complete in itself: every component has a name, a version, an address and a
/// licence, and every dependency is a component.
pub fn check_sbom(release: &ReleaseTest) -> Outcome<String> {
    let bill = read_sbom(&release.files.sbom)?;
    if bill["bomFormat"] != "CycloneDX" || bill["specVersion"] != "1.5" {
        return Err(Failure::new("it is not in the format CycloneDX 1.5"));
    }
    let components = components(&bill);
    let mut references = BTreeSet::from([text(&bill["metadata"]["component"], "bom-ref")]);
    for component in &components {
        let is_named = ["name", "version", "purl", "bom-ref"].iter().all(|field| !text(component, field).is_empty());
        let licences = component["licenses"].as_array();
        let is_licensed =
            licences.is_some_and(|licences| licences.iter().any(|one| !text(one, "expression").is_empty()));
        if !is_named || !is_licensed {
            return Err(Failure::new(format!("a component lacks fields: {component}")));
        }
        if !references.insert(text(component, "bom-ref")) {
            return Err(Failure::new(format!("a component is in it twice: {component}")));
        }
    }
    let dependencies = bill["dependencies"].as_array().into_iter().flatten();
    let named = dependencies.flat_map(|dependency| dependency["dependsOn"].as_array().into_iter().flatten());
    if let Some(unknown) = named.filter_map(Value::as_str).find(|reference| !references.contains(reference)) {
        return Err(Failure::new(format!("{unknown} is a dependency and no component")));
    }
    let count = |kind: &str| components.iter().filter(|component| text(component, "purl").starts_with(kind)).count();
    let (crates, packages) = (count("pkg:cargo/"), count("pkg:npm/"));
    if crates == 0 || packages == 0 {
        return Err(Failure::new("it lacks the crates or the packages of the web app"));
    }
    Ok(format!("CycloneDX 1.5, {crates} crates and {packages} packages, all with licences"))
}

/// Checks that the file of licences has every component of the bill of materials.
pub fn check_licences(release: &ReleaseTest) -> Outcome<String> {
    let file = release.unpacked.join(LICENCES_FILE);
    let licences = fs::read_to_string(&file).context(LICENCES_FILE)?;
    let bill = read_sbom(&release.files.sbom)?;
    let mut number = 0;
    // Crates of the workspace are not others' components.
    for component in components(&bill).iter().filter(|component| !text(component, "bom-ref").starts_with("path+")) {
        let line = format!(" {} {} (", text(component, "name"), text(component, "version"));
        if !licences.contains(&line) {
            return Err(Failure::new(format!("{LICENCES_FILE} lacks{}", line.trim_end_matches('('))));
        }
        number += 1;
    }
    let texts = licences.lines().filter(|line| line.starts_with("Text ")).count();
    Ok(format!("{texts} texts for {number} components, {:.1} MB", megabytes(&file)?))
}

/// Checks that the program needs no symbol of a newer glibc than the documented one.
pub fn check_glibc(release: &ReleaseTest) -> Outcome<String> {
    let program = release.unpacked.join("ai-chat-mcp");
    let printed = run_quiet(Command::new(&release.readelf).args(["--version-info", "--wide"]).arg(program))?;
    let newest = newest_glibc(&printed).ok_or_else(|| Failure::new("the program names no version of glibc"))?;
    let oldest = numbers(OLDEST_GLIBC);
    let shown = newest.iter().map(ToString::to_string).collect::<Vec<_>>().join(".");
    if newest > oldest { Err(Failure::new(format!("it needs {shown}"))) } else { Ok(format!("needs {shown}")) }
}

/// Returns the newest version of glibc that `readelf` names.
fn newest_glibc(printed: &str) -> Option<Vec<u32>> {
    let versions = printed.split("GLIBC_").skip(1).map(|rest| {
        numbers(rest.split(|letter: char| !letter.is_ascii_digit() && letter != '.').next().unwrap_or_default())
    });
    versions.max()
}

fn numbers(version: &str) -> Vec<u32> {
    version.split('.').filter_map(|number| number.parse().ok()).collect()
}

fn read_sbom(file: &Path) -> Outcome<Value> {
    serde_json::from_str(&fs::read_to_string(file).context(file.display())?).context(file.display())
}

fn components(bill: &Value) -> Vec<&Value> {
    bill["components"].as_array().into_iter().flatten().collect()
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_versions_of_glibc_by_numbers() {
        let printed = "Name: GLIBC_2.2.5  Flags: none\n Name: GLIBC_2.17  Flags\n Name: GLIBC_2.9 ";
        assert_eq!(newest_glibc(printed), Some(vec![2, 17]));
        assert_eq!(newest_glibc("nothing"), None);
        assert!(numbers("2.28") > numbers("2.9"));
    }
}
