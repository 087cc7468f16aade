//! WebKit for the browser smoke tests: the GTK port, its WebDriver, and a virtual screen, because it has no headless
//! mode.

use std::path::PathBuf;

use super::find_or_install;
use crate::command::find_program;
use crate::failure::Outcome;

/// Returns WebKit's WebDriver, and installs it and the virtual screen if they are missing.
pub fn ensure() -> Outcome<PathBuf> {
    find_or_install("xvfb", "Xvfb, the screen on which the browser tests show WebKit,", || find_program("Xvfb"))?;
    find_or_install("webkit2gtk-driver", "WebKit, in which the browser tests look at the main paths,", || {
        find_program("WebKitWebDriver")
    })
}
