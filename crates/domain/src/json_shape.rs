//! Estimates the memory that a JSON text takes once it is parsed, before parsing it. A text of 15 MB can take 700 MB:
//! each value of `[{},{},…]` has two or three bytes of text and takes a hundred bytes of memory.

/// Bytes of memory per value or name, the larger of the two forms in which parsers hold them.
const VALUE_BYTES: usize = 96;
/// Bytes of memory for the smallest non-empty object: a B-tree node has space for eleven entries.
const OBJECT_BYTES: usize = 640;

/// Maximum memory for the values of one text. It applies wherever a text from outside is parsed.
pub const MAX_MEMORY_BYTES: usize = 128 * 1024 * 1024;
/// Maximum nesting depth; the parser accepts no more.
pub const MAX_DEPTH: usize = 127;

/// The number of values in a JSON text and their nesting depth, for an estimate of its memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JsonShape {
    /// Number of values and names.
    pub values: usize,
    /// Number of objects that are not empty.
    pub objects: usize,
    /// Number of lists and objects around the innermost value.
    pub depth: usize,
}

impl JsonShape {
    /// Measures a text in one pass without allocating. It does not validate: text that is not JSON has a shape, too.
    pub fn measure(text: &str) -> Self {
        // The outermost value, which no separator introduces.
        let mut shape = Self { values: 1, ..Self::default() };
        let (mut depth, mut in_string, mut is_escaped, mut previous) = (0_usize, false, false, 0);
        for byte in text.bytes() {
            if in_string {
                // A quotation mark ends the string unless a backslash precedes it; a backslash may itself be escaped.
                in_string = is_escaped || byte != b'"';
                is_escaped = byte == b'\\' && !is_escaped;
                continue;
            }
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => continue,
                b'"' => in_string = true,
                // Each separator introduces one more value or name.
                b',' | b':' => shape.values += 1,
                b'{' | b'[' => {
                    depth += 1;
                    shape.depth = shape.depth.max(depth);
                }
                b'}' | b']' => {
                    // Invalid text may close more than it opens.
                    depth = depth.saturating_sub(1);
                    // The first value of a list or object has no separator before it. Empty ones are counted by their
                    // parent.
                    if !matches!(previous, b'{' | b'[') {
                        shape.values += 1;
                        shape.objects += usize::from(byte == b'}');
                    }
                }
                _ => {}
            }
            previous = byte;
        }
        shape
    }

    /// Returns whether a text of this shape may be parsed, see [`MAX_MEMORY_BYTES`] and [`MAX_DEPTH`].
    pub fn is_acceptable(&self) -> bool {
        self.memory_bytes() <= MAX_MEMORY_BYTES && self.depth <= MAX_DEPTH
    }

    /// Estimates the bytes of memory for the values, in addition to the characters of the text.
    pub fn memory_bytes(&self) -> usize {
        self.values.saturating_mul(VALUE_BYTES).saturating_add(self.objects.saturating_mul(OBJECT_BYTES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_values_objects_and_depth() {
        for (text, values, objects, depth) in [
            ("1", 1, 0, 0),
            ("[]", 1, 0, 1),
            ("[1, 2]", 3, 0, 1),
            ("[ { } , { } ]", 3, 0, 2),
            (r#"{"a": 1}"#, 3, 1, 1),
            (r#"{"a": {"b": [1, {"c": null}]}}"#, 9, 3, 4),
            (r#"{"a,:{[": "\"}\\"}"#, 3, 1, 1),
            ("", 1, 0, 0),
            ("]]}[", 4, 1, 1),
        ] {
            assert_eq!(JsonShape::measure(text), JsonShape { values, objects, depth }, "{text}");
        }
    }

    #[test]
    fn many_small_values_cost_much_and_a_long_text_little() {
        let (small, long) = (format!("[{}1]", "{},".repeat(1_000_000)), format!("\"{}\"", "x".repeat(3_000_000)));
        assert!(JsonShape::measure(&small).memory_bytes() > 90_000_000);
        assert!(JsonShape::measure(&long).memory_bytes() < 1_000);
    }
}
