//! The unit converter. Factors are exact where their definition is, so 1 mile is 1.609344 km and nothing near it.

mod table;

use domain::tool::ToolResult;
use serde::Deserialize;
use serde_json::{Value, json};

use super::nearest::nearest;
use super::number::{Number, Undefined};
use table::{UNITS, Unit};

/// What the tool takes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConvertUnits {
    /// A number, or the text of one: models write both.
    value: Value,
    from: String,
    to: String,
}

/// `5 km = 3.10685596118667 mi`.
pub fn convert_units(input: &ConvertUnits) -> Result<ToolResult, String> {
    let value = number(&input.value)?;
    let (from, to) = (find(&input.from)?, find(&input.to)?);
    if from.kind != to.kind {
        return Err(format!(
            "{} is a unit of {} and {} is a unit of {}: one cannot be converted into the other.",
            from.symbol, from.kind, to.symbol, to.kind
        ));
    }
    let result = convert(value, from, to).map_err(|why| format!("This cannot be converted: {why}."))?;
    let text = format!("{value} {} = {result} {}", from.symbol, to.symbol);
    let structured = json!({ "value": result.to_f64(), "decimal": result.to_string(), "unit": to.symbol });
    Ok(super::result(text, structured))
}

/// By way of the base unit of their kind.
fn convert(value: Number, from: &Unit, to: &Unit) -> Result<Number, Undefined> {
    let base = value.plus(constant(from.offset))?.times(constant(from.factor))?;
    base.over(constant(to.factor))?.minus(constant(to.offset))
}

/// A number of the table: a decimal or a fraction of two. A test reads every one of them.
fn constant(text: &str) -> Number {
    let (above, below) = text.split_once('/').unwrap_or((text, "1"));
    let part = |text| Number::from_decimal(text).unwrap_or(Number::from(0));
    part(above).over(part(below)).unwrap_or(Number::from(0))
}

fn number(value: &Value) -> Result<Number, String> {
    let text = match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.trim().to_owned(),
        _ => String::new(),
    };
    let digits = text.strip_prefix('-').unwrap_or(&text);
    match Number::from_decimal(digits) {
        Some(number) if digits.len() < text.len() => Ok(number.negated()),
        Some(number) => Ok(number),
        None => Err(format!("The value must be a number, not {value}.")),
    }
}

/// A unit by its symbol, in the right case if that matters, or by its name.
fn find(said: &str) -> Result<&'static Unit, String> {
    let symbol = symbol(said);
    if let Some(unit) = UNITS.iter().find(|unit| self::symbol(unit.symbol) == symbol) {
        return Ok(unit);
    }
    let name = name(said);
    if let Some(unit) = UNITS.iter().find(|unit| unit.names.iter().any(|known| self::name(known) == name)) {
        return Ok(unit);
    }
    let folded: Vec<&Unit> =
        UNITS.iter().filter(|unit| self::symbol(unit.symbol).to_lowercase() == symbol.to_lowercase()).collect();
    match folded.as_slice() {
        [unit] => Ok(unit),
        [] => Err(unknown(said)),
        several => {
            let symbols: Vec<String> =
                several.iter().map(|unit| format!("{} ({})", unit.symbol, unit.names.first().unwrap_or(&""))).collect();
            Err(format!("{said:?} could be {}. Write the one you mean.", symbols.join(" or ")))
        }
    }
}

/// A symbol without the ways to write it: `m^2`, `m²` and `m2` are one, and so are the two letters mu.
fn symbol(said: &str) -> String {
    let kept = said.chars().filter(|char| !matches!(char, '^' | '°' | ' ' | '_' | '.'));
    kept.map(|char| match char {
        '²' => '2',
        '³' => '3',
        '\u{3bc}' => '\u{b5}',
        other => other,
    })
    .collect()
}

/// A name in the singular, in one spelling.
fn name(said: &str) -> String {
    let said = said.to_lowercase().replace("metre", "meter").replace("litre", "liter").replace('/', " per ");
    said.split(|char: char| char.is_whitespace() || matches!(char, '_' | '-' | '.' | '°' | '^'))
        .filter(|word| !matches!(*word, "" | "degree" | "degrees" | "deg" | "of"))
        .map(|word| match word {
            "feet" => "foot",
            "inches" => "inch",
            "sq" => "square",
            "cu" => "cubic",
            word if word.len() > 2 => word.strip_suffix('s').unwrap_or(word),
            word => word,
        })
        .collect()
}

fn unknown(said: &str) -> String {
    let names = UNITS.iter().flat_map(|unit| unit.names.iter().copied());
    match nearest(said.trim(), names, 3).as_slice() {
        [] => format!("No unit is called {said:?}. Use a symbol or an English name, such as km, pound or °F."),
        near => format!("No unit is called {said:?}. Did you mean {}?", near.join(" or ")),
    }
}

#[cfg(test)]
mod tests;
