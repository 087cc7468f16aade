//! Named constants and functions of an expression.

use std::f64::consts::{E, PI};

use super::super::number::{ArithmeticError, Number};
use super::super::suggestions::closest;

/// Known names, for suggestions.
const KNOWN_NAMES: [&str; 16] = [
    "sqrt", "abs", "round", "floor", "ceil", "min", "max", "sin", "cos", "tan", "ln", "log10", "exp", "pi", "e", "log2",
];
/// Maximum number of decimal places for rounding. More would change nothing.
const MAX_PLACES: i128 = 30;

/// A constant or function that has no value.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum FunctionError {
    /// A name or arguments that do not fit, described for the user.
    #[error("{0}")]
    Usage(String),
    /// A result that is not a number.
    #[error(transparent)]
    Arithmetic(#[from] ArithmeticError),
}

/// Returns the value of a constant.
pub fn constant(name: &str) -> Result<Number, FunctionError> {
    match name {
        "pi" => Ok(Number::Rounded(PI)),
        "e" => Ok(Number::Rounded(E)),
        _ if KNOWN_NAMES.contains(&name) => {
            Err(FunctionError::Usage(format!("{name} needs its argument in parentheses: {name}(2)")))
        }
        _ => Err(FunctionError::Usage(unknown(name))),
    }
}

/// Computes a function.
pub fn apply(name: &str, arguments: &[Number]) -> Result<Number, FunctionError> {
    let function: fn(Number) -> Result<Number, ArithmeticError> = match name {
        "min" | "max" => return Ok(extreme(name, arguments)),
        "round" => return round(arguments),
        "sqrt" => Number::square_root,
        "abs" => |x| Ok(x.magnitude()),
        "floor" => |x| Ok(x.floor()),
        "ceil" => |x| Ok(x.ceiling()),
        "sin" => Number::sine,
        "cos" => Number::cosine,
        "tan" => Number::tangent,
        "ln" => |x| x.logarithm(f64::ln),
        "log10" => |x| x.logarithm(f64::log10),
        "log2" => |x| x.logarithm(f64::log2),
        "exp" => |x| Number::rounded(x.to_f64().exp()),
        // The base is 10 on calculators and e in most programming languages.
        "log" => return Err(FunctionError::Usage("log is ambiguous: write ln or log10".into())),
        "pi" | "e" => return Err(FunctionError::Usage(format!("{name} is a constant; write {name} * (…)"))),
        _ => return Err(FunctionError::Usage(unknown(name))),
    };
    match arguments {
        [x] => Ok(function(*x)?),
        _ => Err(FunctionError::Usage(format!("{name} takes one argument, not {}", arguments.len()))),
    }
}

/// Returns the smallest or the largest argument.
fn extreme(name: &str, arguments: &[Number]) -> Number {
    let (first, others) = (arguments.first().copied(), arguments.iter().skip(1));
    others.fold(first.unwrap_or(Number::from(0)), |best, next| {
        let is_better = if name == "min" { next.compare(best).is_lt() } else { next.compare(best).is_gt() };
        if is_better { *next } else { best }
    })
}

/// Rounds to the number of places that the second argument gives.
fn round(arguments: &[Number]) -> Result<Number, FunctionError> {
    let (x, places) = match arguments {
        [x] => (x, 0),
        [x, places] => match places.as_integer() {
            Some(places) if places.abs() <= MAX_PLACES => (x, places as i32),
            _ => {
                return Err(FunctionError::Usage(format!(
                    "the second argument of round is a whole number from -{MAX_PLACES} to {MAX_PLACES}"
                )));
            }
        },
        _ => {
            return Err(FunctionError::Usage(format!("round takes one or two arguments, not {}", arguments.len())));
        }
    };
    Ok(x.round(places)?)
}

/// Returns the message for an unknown name, with a suggestion if a known one is similar.
fn unknown(name: &str) -> String {
    match closest(name, KNOWN_NAMES, 1).first() {
        Some(near) => format!("{name} is not known; did you mean {near}?"),
        None => format!("{name} is not known"),
    }
}
