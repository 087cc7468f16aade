//! Time zones by the names that people and models use.

use jiff::tz::{self, TimeZone};

use super::nearest::nearest;

/// The zone of an IANA name in any case, or of a city that one zone is named after; with its IANA name.
pub fn find(name: &str) -> Result<(String, TimeZone), String> {
    let wanted = name.trim().replace(' ', "_");
    if let Ok(zone) = tz::db().get(&wanted) {
        return Ok((zone.iana_name().unwrap_or(&wanted).to_owned(), zone));
    }
    let known: Vec<String> = tz::db().available().map(|name| name.as_str().to_owned()).collect();
    let of_city: Vec<&String> =
        known.iter().filter(|known| known.contains('/') && city(known).eq_ignore_ascii_case(&wanted)).collect();
    match of_city.as_slice() {
        [one] => match tz::db().get(one) {
            Ok(zone) => Ok(((*one).clone(), zone)),
            Err(_) => Err(format!("The time zone {one} cannot be read.")),
        },
        [] => Err(unknown(name.trim(), &wanted, &known)),
        several => {
            let names: Vec<&str> = several.iter().map(|name| name.as_str()).collect();
            Err(format!(
                "Several time zones are called {:?}: {}. Use one of these names.",
                name.trim(),
                names.join(", ")
            ))
        }
    }
}

fn city(zone: &str) -> &str {
    zone.rsplit_once('/').map_or(zone, |(_, city)| city)
}

fn unknown(said: &str, wanted: &str, known: &[String]) -> String {
    let near = if wanted.contains('/') {
        nearest(wanted, known.iter().map(String::as_str), 3)
    } else {
        let cities = nearest(wanted, known.iter().map(|zone| city(zone)), 3);
        known.iter().map(String::as_str).filter(|zone| cities.contains(&city(zone))).take(3).collect()
    };
    if near.is_empty() {
        format!(
            "No time zone is called {said:?}. Use the IANA name of the zone, such as Europe/Berlin or America/New_York."
        )
    } else {
        format!("No time zone is called {said:?}. Did you mean {}?", near.join(" or "))
    }
}
