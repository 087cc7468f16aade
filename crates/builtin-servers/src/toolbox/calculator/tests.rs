use proptest::prelude::*;

use super::*;

fn value(expression: &str) -> String {
    evaluate(expression).unwrap_or_else(|error| panic!("{expression}: {error}")).to_string()
}

fn error(expression: &str) -> String {
    evaluate(expression).unwrap_err().to_string()
}

#[test]
fn follows_operator_precedence() {
    for (expression, expected) in [
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("2 ^ 3 ^ 2", "512"),
        ("-2 ^ 2", "-4"),
        ("2 ^ -1", "0.5"),
        ("2 - 3 - 4", "-5"),
        ("64 / 4 / 2", "8"),
        ("--3", "3"),
        ("2 * -3", "-6"),
        ("-7 % 3", "2"),
        ("7.5 % 2", "1.5"),
        ("2 ** 10 =", "1024"),
        ("6 × 7 − 2 ÷ 4", "41.5"),
    ] {
        assert_eq!(value(expression), expected, "{expression}");
    }
}

#[test]
fn computes_decimals_exactly() {
    for (expression, expected) in [
        ("0.1 + 0.2", "0.3"),
        ("1.1 * 1.1", "1.21"),
        ("1 / 3 * 3", "1"),
        ("19.99 * 3", "59.97"),
        ("1e-7 + 1", "1.0000001"),
        ("2 ^ 100", "1267650600228229401496703205376"),
        ("12345678901234567890 * 10", "123456789012345678900"),
        ("10 / 4", "2.5"),
    ] {
        assert_eq!(value(expression), expected, "{expression}");
        assert!(evaluate(expression).unwrap().is_shown_exactly(), "{expression}");
    }
}

#[test]
fn computes_functions_and_constants() {
    for (expression, expected) in [
        ("sqrt(0.25)", "0.5"),
        ("SQRT(2)", "1.4142135623731"),
        ("abs(-3.5)", "3.5"),
        ("round(2.5)", "3"),
        ("round(-2.345, 2)", "-2.35"),
        ("round(1234, -2)", "1200"),
        ("floor(-0.5)", "-1"),
        ("ceil(0.1)", "1"),
        ("min(3, 1/2, 2)", "0.5"),
        ("max(3)", "3"),
        ("sin(pi)", "0"),
        ("cos(0)", "1"),
        ("tan(pi / 4)", "1"),
        ("ln(e)", "1"),
        ("log10(1000)", "3"),
        ("exp(0)", "1"),
        ("2e", "expected"),
        ("2 * e", "5.43656365691809"),
        ("2e3", "2000"),
        ("π", "3.14159265358979"),
    ] {
        match evaluate(expression) {
            Ok(number) => assert_eq!(number.to_string(), expected, "{expression}"),
            Err(error) => assert!(error.to_string().contains(expected), "{expression}: {error}"),
        }
    }
}

#[test]
fn errors_have_message_and_position() {
    for (expression, expected) in [
        ("", "at position 1: expected a number, found the end"),
        ("2 +", "at position 4: expected a number, found the end"),
        ("2 + * 3", "at position 5: expected a number, found *"),
        ("2 3", "at position 3: expected an operator, found 3"),
        ("(1 + 2", "at position 7: the parenthesis at position 1 is not closed"),
        ("1 + 2)", "at position 6: expected an operator, found )"),
        ("5 / (3 - 3)", "at position 3: division by zero"),
        ("5 % 0", "at position 3: division by zero"),
        ("0 ^ -1", "at position 3: division by zero"),
        ("1,000 + 1", "at position 2: a comma stands only between the arguments of a function; write 1000, not 1,000"),
        ("20% * 3", "at position 3: % is the remainder of a division; write 20/100 for 20 percent"),
        ("sqrt(-1)", "at position 1: a negative number has no square root among the real numbers"),
        ("(-8) ^ 0.5", "at position 6: a negative number has no such power among the real numbers"),
        ("ln(0)", "at position 1: only numbers above zero have a logarithm"),
        ("tan(pi/2)", "at position 1: division by zero"),
        ("sqr(4)", "at position 1: sqr is not known; did you mean sqrt?"),
        ("sqrt 4", "at position 1: sqrt needs its argument in parentheses: sqrt(2)"),
        ("sin(1, 2)", "at position 1: sin takes one argument, not 2"),
        ("log(10)", "at position 1: log is ambiguous: write ln or log10"),
        ("min()", "at position 5: expected a number, found )"),
        ("1.2.3", "at position 1: 1.2.3 is not a number that can be computed with"),
        ("$5", "at position 1: '$' is not part of an expression"),
        ("10^10^10", "at position 3: the result is too large"),
        ("1e999", "at position 1: 1e999 is not a number that can be computed with"),
    ] {
        assert_eq!(error(expression), expected, "{expression}");
    }
    assert!(error(&"(".repeat(500)).contains("nested"));
    assert!(error(&"-".repeat(999)).contains("nested"));
    assert!(error(&"1+".repeat(600)).contains("longer than 1000"));
}

proptest! {
    #[test]
    fn never_panics_on_expression_characters(expression in "[0-9.eE+*/%^()a-z ,π-]{0,80}") {
        let _ = evaluate(&expression).map(|number| number.to_string());
    }

    #[test]
    fn never_panics_on_any_text(expression in any::<String>()) {
        let _ = evaluate(&expression);
    }

    #[test]
    fn computes_like_integer_arithmetic(a in -1_000_i64..1_000, b in -1_000_i64..1_000, c in 1_i64..1_000) {
        prop_assert_eq!(value(&format!("{a} + {b} * ({c} - {a})")), (a + b * (c - a)).to_string());
        prop_assert_eq!(value(&format!("{a} % {c}")), a.rem_euclid(c).to_string());
        prop_assert_eq!(value(&format!("floor({a} / {c})")), a.div_euclid(c).to_string());
    }
}
