//! Time zones by the names that users and models write.

use jiff::tz::{self, TimeZone};

use super::ToolboxError;
use super::suggestions::closest;

/// Finds a time zone by its IANA name in any case, or by the city in that name. Returns its IANA name and the zone.
pub fn find_zone(name: &str) -> Result<(String, TimeZone), ToolboxError> {
    let wanted = name.trim().replace(' ', "_");
    if let Ok(zone) = tz::db().get(&wanted) {
        return Ok((zone.iana_name().unwrap_or(&wanted).to_owned(), zone));
    }
    let known: Vec<String> = tz::db().available().map(|name| name.as_str().to_owned()).collect();
    let with_city: Vec<&String> =
        // Names without a slash, such as `Japan`, are old aliases and were found above.
        known.iter().filter(|known| known.contains('/') && city(known).eq_ignore_ascii_case(&wanted)).collect();
    match with_city.as_slice() {
        [one] => match tz::db().get(one) {
            Ok(zone) => Ok(((*one).clone(), zone)),
            Err(_) => Err(ToolboxError::Argument(format!("The time zone {one} cannot be read."))),
        },
        [] => Err(ToolboxError::Argument(unknown(name.trim(), &wanted, &known))),
        several => {
            let names: Vec<&str> = several.iter().map(|name| name.as_str()).collect();
            let (name, names) = (name.trim(), names.join(", "));
            Err(ToolboxError::Argument(format!(
                "Several time zones are called {name:?}: {names}. Use one of these names."
            )))
        }
    }
}

/// Returns the last part of an IANA name.
fn city(zone: &str) -> &str {
    zone.rsplit_once('/').map_or(zone, |(_, city)| city)
}

/// Returns the message for an unknown name, with suggestions.
fn unknown(text: &str, wanted: &str, known: &[String]) -> String {
    let near = if wanted.contains('/') {
        closest(wanted, known.iter().map(String::as_str), 3)
    } else {
        let cities = closest(wanted, known.iter().map(|zone| city(zone)), 3);
        known.iter().map(String::as_str).filter(|zone| cities.contains(&city(zone))).take(3).collect()
    };
    if near.is_empty() {
        format!(
            "No time zone is called {text:?}. Use the IANA name of the zone, such as Europe/Berlin or America/New_York."
        )
    } else {
        format!("No time zone is called {text:?}. Did you mean {}?", near.join(" or "))
    }
}
