use proptest::prelude::*;

use super::*;

fn number(text: &str) -> Number {
    match text.strip_prefix('-') {
        Some(text) => Number::from_decimal(text).unwrap().negated(),
        None => Number::from_decimal(text).unwrap(),
    }
}

#[test]
fn parses_and_shows_decimals_exactly() {
    for (text, shown) in [
        ("0.1", "0.1"),
        ("007.50", "7.5"),
        (".5", "0.5"),
        ("1e3", "1000"),
        ("2.5E-4", "0.00025"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("1e30", "1000000000000000000000000000000"),
    ] {
        assert_eq!(number(text).to_string(), shown);
        assert!(number(text).is_shown_exactly(), "{text}");
    }
    assert_eq!(number("1e300").to_string(), "1e300");
    assert_eq!(number("-0.00000000123456").to_string(), "-0.00000000123456");
    for text in ["", ".", "1.2.3", "e5", "1e", "1e999", "0x10", "inf", "nan", "١"] {
        assert_eq!(Number::from_decimal(text), None, "{text}");
    }
}

#[test]
fn shows_fifteen_digits_of_infinite_decimals() {
    let third = number("1").over(number("3")).unwrap();
    assert_eq!(third.to_string(), "0.333333333333333");
    assert!(!third.is_shown_exactly());
    assert_eq!(third.times(number("3")).unwrap().to_string(), "1");
    assert_eq!(number("2").square_root().unwrap().to_string(), "1.4142135623731");
}

#[test]
fn rounds_large_results_and_rejects_larger_ones() {
    let big = number("10").power(number("100")).unwrap();
    assert_eq!(big.to_string(), "1e100");
    assert_eq!(big.power(number("10")), Err(ArithmeticError::TooLarge));
    assert_eq!(Number::from(i128::MIN).to_string(), "-1.70141183460469e38");
}

fn fractions() -> impl Strategy<Value = Number> {
    (-1_000_000_i128..1_000_000, 1_i128..10_000).prop_map(|(a, b)| Number::from(a).over(Number::from(b)).unwrap())
}

proptest! {
    #[test]
    fn arithmetic_obeys_its_laws(a in fractions(), b in fractions(), c in fractions()) {
        prop_assert_eq!(a.plus(b), b.plus(a));
        prop_assert_eq!(a.plus(b).unwrap().minus(b), Ok(a));
        let left = a.plus(b).unwrap().times(c).unwrap();
        prop_assert_eq!(left, a.times(c).unwrap().plus(b.times(c).unwrap()).unwrap());
        if !b.is_zero() {
            prop_assert_eq!(a.over(b).unwrap().times(b), Ok(a));
            let rest = a.remainder(b).unwrap();
            prop_assert_eq!(a.minus(rest).unwrap().over(b).unwrap().as_integer().is_some(), true);
            prop_assert!(rest.magnitude().compare(b.magnitude()).is_lt());
        }
    }

    #[test]
    fn square_root_and_rounding_are_accurate(a in fractions(), digits in 0..6) {
        prop_assert_eq!(a.times(a).unwrap().square_root(), Ok(a.magnitude()));
        let off = a.round(digits).unwrap().minus(a).unwrap().magnitude().to_f64();
        prop_assert!(off <= 0.500_001 * 10_f64.powi(-digits));
        prop_assert!(a.floor().compare(a).is_le() && a.ceiling().compare(a).is_ge());
    }

    #[test]
    fn never_panics_on_any_number(text in "[0-9.eE+-]{0,60}") {
        if let Some(number) = Number::from_decimal(&text) {
            let _ = number.to_string();
        }
    }
}
