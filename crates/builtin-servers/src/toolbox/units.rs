//! The unit converter. Factors are exact where their definition is: 1 mile is exactly 1.609344 km.

mod table;

use domain::tool::ToolResult;
use serde::Deserialize;
use serde_json::{Value, json};

use super::ToolboxError;
use super::number::{ArithmeticError, Number};
use super::suggestions::closest;
use table::{UNITS, Unit};

/// Arguments of the tool.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConvertUnits {
    /// A number, or a text with one: models write both.
    value: Value,
    from: String,
    to: String,
}

/// Converts a value; the text is such as `5 km = 3.10685596118667 mi`.
pub fn convert_units(input: &ConvertUnits) -> Result<ToolResult, ToolboxError> {
    let value = parse_value(&input.value)?;
    let (from, to) = (find_unit(&input.from)?, find_unit(&input.to)?);
    if from.quantity != to.quantity {
        return Err(ToolboxError::Argument(format!(
            "{} is a unit of {} and {} is a unit of {}: one cannot be converted into the other.",
            from.symbol, from.quantity, to.symbol, to.quantity
        )));
    }
    let result = convert(value, from, to)?;
    let text = format!("{value} {} = {result} {}", from.symbol, to.symbol);
    let structured = json!({ "value": result.to_f64(), "decimal": result.to_string(), "unit": to.symbol });
    Ok(super::result(text, structured))
}

/// Converts by way of the base unit of the quantity.
fn convert(value: Number, from: &Unit, to: &Unit) -> Result<Number, ArithmeticError> {
    let base = value.plus(table_number(from.offset))?.times(table_number(from.factor))?;
    base.over(table_number(to.factor))?.minus(table_number(to.offset))
}

/// Parses a number of the table: a decimal, or a fraction of two. A test parses all of them.
fn table_number(text: &str) -> Number {
    let (above, below) = text.split_once('/').unwrap_or((text, "1"));
    let part = |text| Number::from_decimal(text).unwrap_or(Number::from(0));
    part(above).over(part(below)).unwrap_or(Number::from(0))
}

/// Parses the value of the arguments.
fn parse_value(value: &Value) -> Result<Number, ToolboxError> {
    let text = match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.trim().to_owned(),
        _ => String::new(),
    };
    let digits = text.strip_prefix('-').unwrap_or(&text);
    match Number::from_decimal(digits) {
        Some(number) if digits.len() < text.len() => Ok(number.negated()),
        Some(number) => Ok(number),
        None => Err(ToolboxError::Argument(format!("The value must be a number, not {value}."))),
    }
}

/// Finds a unit by its symbol or its name. The case of a symbol matters only where it distinguishes units.
fn find_unit(text: &str) -> Result<&'static Unit, ToolboxError> {
    // Symbols with their case first: `Mb` and `MB`, or `mW` and `MW`, are different units.
    let symbol = normalize_symbol(text);
    if let Some(unit) = UNITS.iter().find(|unit| normalize_symbol(unit.symbol) == symbol) {
        return Ok(unit);
    }
    let name = normalize_name(text);
    if let Some(unit) = UNITS.iter().find(|unit| unit.names.iter().any(|known| normalize_name(known) == name)) {
        return Ok(unit);
    }
    let folded: Vec<&Unit> =
        UNITS.iter().filter(|unit| normalize_symbol(unit.symbol).to_lowercase() == symbol.to_lowercase()).collect();
    match folded.as_slice() {
        [unit] => Ok(unit),
        [] => Err(ToolboxError::Argument(unknown(text))),
        several => {
            let symbols: Vec<String> =
                several.iter().map(|unit| format!("{} ({})", unit.symbol, unit.names.first().unwrap_or(&""))).collect();
            Err(ToolboxError::Argument(format!("{text:?} could be {}. Write the one you mean.", symbols.join(" or "))))
        }
    }
}

/// Normalizes the spelling of a symbol: `m^2`, `m²` and `m2` are the same, and so are the two characters for mu.
fn normalize_symbol(text: &str) -> String {
    let kept = text.chars().filter(|char| !matches!(char, '^' | '°' | ' ' | '_' | '.'));
    kept.map(|char| match char {
        '²' => '2',
        '³' => '3',
        '\u{3bc}' => '\u{b5}',
        other => other,
    })
    .collect()
}

/// Normalizes a name to the singular and American spelling.
fn normalize_name(text: &str) -> String {
    let text = text.to_lowercase().replace("metre", "meter").replace("litre", "liter").replace('/', " per ");
    text.split(|char: char| char.is_whitespace() || matches!(char, '_' | '-' | '.' | '°' | '^'))
        .filter(|word| !matches!(*word, "" | "degree" | "degrees" | "deg" | "of"))
        .map(|word| match word {
            "feet" => "foot",
            "inches" => "inch",
            "sq" => "square",
            "cu" => "cubic",
            // Short words are symbols, of which an `s` is a part: `ms` is not the plural of `m`.
            word if word.len() > 2 => word.strip_suffix('s').unwrap_or(word),
            word => word,
        })
        .collect()
}

/// Returns the message for an unknown unit, with suggestions.
fn unknown(text: &str) -> String {
    let names = UNITS.iter().flat_map(|unit| unit.names.iter().copied());
    match closest(text.trim(), names, 3).as_slice() {
        [] => format!("No unit is called {text:?}. Use a symbol or an English name, such as km, pound or °F."),
        near => format!("No unit is called {text:?}. Did you mean {}?", near.join(" or ")),
    }
}

#[cfg(test)]
mod tests;
