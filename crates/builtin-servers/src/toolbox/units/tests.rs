use proptest::prelude::*;

use super::*;

fn converted(value: Value, from: &str, to: &str) -> Result<String, String> {
    let input = ConvertUnits { value, from: from.into(), to: to.into() };
    convert_units(&input).map(|result| result.to_model_text()).map_err(|error| error.to_string())
}

#[test]
fn converts_by_definition() {
    for (value, from, to, expected) in [
        (1, "mile", "km", "1 mi = 1.609344 km"),
        (5, "km", "mi", "5 km = 3.10685596118667 mi"),
        (100, "°C", "°F", "100 °C = 212 °F"),
        (-40, "fahrenheit", "Celsius", "-40 °F = -40 °C"),
        (0, "K", "C", "0 K = -273.15 °C"),
        (1, "lb", "kg", "1 lb = 0.45359237 kg"),
        (1, "acre", "square feet", "1 ac = 43560 ft²"),
        (1, "us gallon", "cups", "1 gal = 16 cup"),
        (1, "imperial gallons", "uk pints", "1 imp gal = 8 imp pt"),
        (36, "km/h", "m/s", "36 km/h = 10 m/s"),
        (1, "knot", "kilometres per hour", "1 kn = 1.852 km/h"),
        (1, "GiB", "MB", "1 GiB = 1073.741824 MB"),
        (8, "Mb", "MB", "8 Mb = 1 MB"),
        (1, "week", "hours", "1 wk = 168 h"),
        (1, "year", "days", "1 yr = 365.2425 d"),
        (1, "kWh", "kJ", "1 kWh = 3600 kJ"),
        (1, "atm", "Torr", "1 atm = 760 Torr"),
        (1, "psi", "Pa", "1 psi = 6894.75729316836 Pa"),
        (2, "cubic metres", "litres", "2 m³ = 2000 L"),
        (3, "m^3", "l", "3 m³ = 3000 L"),
    ] {
        assert_eq!(converted(json!(value), from, to).as_deref(), Ok(expected), "{from} to {to}");
    }
    assert_eq!(converted(json!("-1.5"), "m", "cm").as_deref(), Ok("-1.5 m = -150 cm"));
    assert_eq!(converted(json!(0.1), "m", "mm").as_deref(), Ok("0.1 m = 100 mm"));
}

#[test]
fn explains_impossible_conversions() {
    let refusal = |value, from, to| converted(value, from, to).unwrap_err();
    assert!(refusal(json!(1), "kg", "km").contains("unit of mass and km is a unit of length"));
    assert!(refusal(json!(1), "mb", "km").contains("MB (megabyte) or Mb (megabit)"));
    assert!(refusal(json!(1), "kilometr", "m").contains("Did you mean kilometer"));
    assert!(refusal(json!(1), "parsec", "m").contains("No unit is called"));
    assert!(refusal(json!("many"), "m", "km").contains("must be a number"));
}

#[test]
fn finds_every_unit_by_all_its_names() {
    for unit in UNITS {
        for said in unit.names.iter().chain([&unit.symbol]) {
            for said in [(*said).to_owned(), format!(" {said} ")] {
                let found = find_unit(&said).unwrap_or_else(|error| panic!("{said}: {error}"));
                assert_eq!((found.quantity, found.symbol), (unit.quantity, unit.symbol), "{said}");
            }
        }
        assert!(table_number(unit.factor).compare(Number::from(0)).is_gt(), "{}", unit.symbol);
        assert!(table_number(unit.offset).compare(Number::from(0)).is_ge(), "{}", unit.symbol);
    }
}

/// Generates two units of one quantity.
fn pairs() -> impl Strategy<Value = (&'static Unit, &'static Unit)> {
    (0..UNITS.len(), any::<prop::sample::Index>()).prop_map(|(at, index)| {
        let from = &UNITS[at];
        let others: Vec<&Unit> = UNITS.iter().filter(|unit| unit.quantity == from.quantity).collect();
        (from, others[index.index(others.len())])
    })
}

proptest! {
    #[test]
    fn conversion_is_reversible((from, to) in pairs(), milli in -1_000_000_000_i128..1_000_000_000) {
        let value = Number::from(milli).over(Number::from(1000)).unwrap();
        let there = convert(value, from, to).unwrap();
        let back = convert(there, to, from).unwrap();
        let off = back.minus(value).unwrap().to_f64().abs();
        prop_assert!(off <= 1e-9 * value.to_f64().abs(), "{} {} = {} {}", value, from.symbol, there, to.symbol);
    }

    #[test]
    fn never_panics_on_any_unit_name(said in any::<String>()) {
        let _ = find_unit(&said);
    }
}
