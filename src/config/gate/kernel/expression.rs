//! Arithmetic over the sizes of a case: `ceil(n / 256)`, `rows * columns * 4`, `1 / sqrt(d)`.
//!
//! Exact: numbers are fractions until `sqrt` makes a binary fraction of one. So `n / 256` is never cut silently; who
//! wants it cut writes `floor`, who wants every element covered `ceil`.

use std::collections::BTreeMap;
use std::fmt;

/// The sizes of a case by name.
pub type Sizes = BTreeMap<String, i64>;

/// Longer ones are refused, in bytes.
const LONGEST: usize = 200;

/// Deeper nesting is refused.
const DEEPEST: usize = 24;

/// An expression that was read. Two are equal when they are written the same but for spaces.
#[derive(Debug, Clone)]
pub struct Expression {
    text: String,
    tree: Node,
}

/// What an expression comes to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// A fraction in lowest terms with a positive denominator.
    Exact(i128, i128),
    /// A binary fraction: something was a square root.
    Float(f64),
}

#[derive(Debug, Clone)]
enum Node {
    Number(i128, i128),
    Size(String),
    Negated(Box<Node>),
    Two(char, Box<Node>, Box<Node>),
    Call(Function, Vec<Node>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Function {
    Ceil,
    Floor,
    Min,
    Max,
    Sqrt,
}

const FUNCTIONS: [(&str, Function, usize); 5] = [
    ("ceil", Function::Ceil, 1),
    ("floor", Function::Floor, 1),
    ("min", Function::Min, 2),
    ("max", Function::Max, 2),
    ("sqrt", Function::Sqrt, 1),
];

impl Expression {
    /// Reads one; the error continues "must be …".
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > LONGEST {
            return Err(format!("must be an expression of at most {LONGEST} bytes"));
        }
        let tokens = tokens(text)?;
        let mut reader = Reader { tokens: &tokens, at: 0 };
        let tree = reader.sum(0)?;
        if let Some(rest) = reader.peek() {
            return Err(format!("must be an expression, and \"{rest}\" does not follow"));
        }
        Ok(Self { text: tokens.concat(), tree })
    }

    /// A whole number as an expression.
    pub fn whole_number(number: i64) -> Self {
        Self { text: number.to_string(), tree: Node::Number(number.into(), 1) }
    }

    /// What it comes to.
    pub fn value(&self, sizes: &Sizes) -> Result<Value, String> {
        self.tree.value(sizes).map_err(|why| format!("{why} in {}", self.text))
    }

    /// What it comes to, when that is a whole number that fits.
    pub fn whole(&self, sizes: &Sizes) -> Result<i64, String> {
        match self.value(sizes)? {
            Value::Exact(number, 1) => {
                i64::try_from(number).map_err(|_| format!("{} is {number}, which is too large", self.text))
            }
            Value::Exact(..) => Err(format!("{} is not whole: write ceil(…) or floor(…)", self.text)),
            Value::Float(_) => {
                Err(format!("{} holds a square root, and a whole number is needed", self.text))
            }
        }
    }
}

impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Expression {}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Value {
    /// The nearest binary fraction.
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Exact(number, denominator) => number as f64 / denominator as f64,
            Self::Float(float) => float,
        }
    }

    fn exact(number: i128, denominator: i128) -> Result<Self, String> {
        if denominator == 0 {
            return Err("a division by zero".into());
        }
        let divisor = greatest_common_divisor(number.unsigned_abs(), denominator.unsigned_abs());
        let divisor = i128::try_from(divisor).map_err(|_| too_large())?.max(1);
        let sign = if denominator < 0 { -1 } else { 1 };
        let number = number.checked_div(divisor).and_then(|n| n.checked_mul(sign)).ok_or_else(too_large)?;
        let denominator =
            denominator.checked_div(divisor).and_then(|d| d.checked_mul(sign)).ok_or_else(too_large)?;
        Ok(Self::Exact(number, denominator))
    }
}

const fn greatest_common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn too_large() -> String {
    "a number becomes too large".into()
}

impl Node {
    fn value(&self, sizes: &Sizes) -> Result<Value, String> {
        match self {
            Self::Number(number, denominator) => Value::exact(*number, *denominator),
            Self::Size(name) => {
                sizes.get(name).map(|size| Value::Exact(i128::from(*size), 1)).ok_or_else(|| {
                    let known: Vec<&str> = sizes.keys().map(String::as_str).collect();
                    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                    format!("no size {name} (known: {known})")
                })
            }
            Self::Negated(inner) => two('-', Value::Exact(0, 1), inner.value(sizes)?),
            Self::Two(operator, left, right) => two(*operator, left.value(sizes)?, right.value(sizes)?),
            Self::Call(function, inner) => {
                let values: Vec<Value> =
                    inner.iter().map(|node| node.value(sizes)).collect::<Result<_, _>>()?;
                call(*function, &values)
            }
        }
    }
}

fn two(operator: char, left: Value, right: Value) -> Result<Value, String> {
    let (Value::Exact(a, b), Value::Exact(c, d)) = (left, right) else {
        let (a, b) = (left.to_f64(), right.to_f64());
        return finite(match operator {
            '+' => a + b,
            '-' => a - b,
            '*' => a * b,
            '/' => a / b,
            _ => a % b,
        });
    };
    let product = |a: i128, b: i128| a.checked_mul(b).ok_or_else(too_large);
    match operator {
        '+' => {
            Value::exact(product(a, d)?.checked_add(product(c, b)?).ok_or_else(too_large)?, product(b, d)?)
        }
        '-' => {
            Value::exact(product(a, d)?.checked_sub(product(c, b)?).ok_or_else(too_large)?, product(b, d)?)
        }
        '*' => Value::exact(product(a, c)?, product(b, d)?),
        '/' => Value::exact(product(a, d)?, product(b, c)?),
        _ if b == 1 && d == 1 => {
            a.checked_rem_euclid(c).map(|rest| Value::Exact(rest, 1)).ok_or("a division by zero".into())
        }
        _ => Err("% of what is not whole".into()),
    }
}

fn call(function: Function, values: &[Value]) -> Result<Value, String> {
    let first = values.first().copied().unwrap_or(Value::Exact(0, 1));
    match (function, first) {
        (Function::Sqrt, _) => finite(first.to_f64().sqrt()),
        (Function::Ceil, Value::Exact(a, b)) => {
            let below = a.div_euclid(b);
            Ok(Value::Exact(if a.rem_euclid(b) == 0 { below } else { below + 1 }, 1))
        }
        (Function::Floor, Value::Exact(a, b)) => Ok(Value::Exact(a.div_euclid(b), 1)),
        (Function::Ceil, Value::Float(float)) => whole_float(float.ceil()),
        (Function::Floor, Value::Float(float)) => whole_float(float.floor()),
        (Function::Min | Function::Max, _) => {
            let second = values.get(1).copied().unwrap_or(first);
            let less = match (first, second) {
                (Value::Exact(a, b), Value::Exact(c, d)) => {
                    a.checked_mul(d).ok_or_else(too_large)? < c.checked_mul(b).ok_or_else(too_large)?
                }
                _ => first.to_f64() < second.to_f64(),
            };
            Ok(if less == (function == Function::Min) { first } else { second })
        }
    }
}

fn finite(float: f64) -> Result<Value, String> {
    if float.is_finite() { Ok(Value::Float(float)) } else { Err("something that is not a number".into()) }
}

fn whole_float(float: f64) -> Result<Value, String> {
    if float.abs() < 9.0e15 { Ok(Value::Exact(float as i128, 1)) } else { Err(too_large()) }
}

/// Whether a text can be the name of a size.
pub(super) fn is_name(text: &str) -> bool {
    let begins = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    begins && text.len() <= 40 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn tokens(text: &str) -> Result<Vec<&str>, String> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let begin = at;
        match bytes[at] {
            b' ' => {
                at += 1;
                continue;
            }
            b'+' | b'-' | b'*' | b'/' | b'%' | b'(' | b')' | b',' => at += 1,
            b'0'..=b'9' | b'.' => {
                while at < bytes.len() && (bytes[at].is_ascii_digit() || bytes[at] == b'.') {
                    at += 1;
                }
            }
            byte if byte.is_ascii_alphabetic() || byte == b'_' => {
                while at < bytes.len() && (bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_') {
                    at += 1;
                }
            }
            _ => {
                let wrong = text[at..].chars().next().unwrap_or(' ');
                return Err(format!(
                    "must be an expression of sizes, numbers and + - * / % ( ), not with '{}'",
                    wrong.escape_debug()
                ));
            }
        }
        tokens.push(&text[begin..at]);
    }
    if tokens.is_empty() { Err("must not be empty".into()) } else { Ok(tokens) }
}

struct Reader<'t> {
    tokens: &'t [&'t str],
    at: usize,
}

impl<'t> Reader<'t> {
    fn peek(&self) -> Option<&'t str> {
        self.tokens.get(self.at).copied()
    }

    fn next(&mut self) -> Option<&'t str> {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn sum(&mut self, depth: usize) -> Result<Node, String> {
        if depth > DEEPEST {
            return Err("must not be nested that deep".into());
        }
        let mut left = self.product(depth)?;
        while let Some(operator @ ("+" | "-")) = self.peek() {
            self.at += 1;
            let right = self.product(depth)?;
            left = Node::Two(sign(operator), Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn product(&mut self, depth: usize) -> Result<Node, String> {
        let mut left = self.factor(depth)?;
        while let Some(operator @ ("*" | "/" | "%")) = self.peek() {
            self.at += 1;
            let right = self.factor(depth)?;
            left = Node::Two(sign(operator), Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn factor(&mut self, depth: usize) -> Result<Node, String> {
        let Some(token) = self.next() else {
            return Err("must be a whole expression, and it ends early".into());
        };
        if token == "-" {
            if depth >= DEEPEST {
                return Err("must not be nested that deep".into());
            }
            return Ok(Node::Negated(Box::new(self.factor(depth + 1)?)));
        }
        if token == "(" {
            let inner = self.sum(depth + 1)?;
            self.expect(")")?;
            return Ok(inner);
        }
        if token.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return number(token);
        }
        if !is_name(token) {
            return Err(format!("must be an expression, and \"{token}\" does not follow"));
        }
        if self.peek() != Some("(") {
            return Ok(Node::Size(token.to_owned()));
        }
        let Some((_, function, count)) = FUNCTIONS.iter().find(|(name, ..)| *name == token) else {
            let names: Vec<&str> = FUNCTIONS.iter().map(|(name, ..)| *name).collect();
            return Err(format!(
                "must be an expression with the functions {}, not {token}",
                names.join(", ")
            ));
        };
        self.at += 1;
        let mut inner = vec![self.sum(depth + 1)?];
        while self.peek() == Some(",") {
            self.at += 1;
            inner.push(self.sum(depth + 1)?);
        }
        self.expect(")")?;
        if inner.len() != *count {
            return Err(format!("must give {token} {count} operand(s), not {}", inner.len()));
        }
        Ok(Node::Call(*function, inner))
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        match self.next() {
            Some(found) if found == token => Ok(()),
            _ => Err(format!("must be an expression, and a \"{token}\" is missing")),
        }
    }
}

fn sign(operator: &str) -> char {
    operator.chars().next().unwrap_or('+')
}

fn number(token: &str) -> Result<Node, String> {
    let (whole, fraction) = token.split_once('.').unwrap_or((token, ""));
    let digits = format!("{whole}{fraction}");
    let number = digits.parse::<i128>().ok().filter(|_| digits.len() <= 30 && !fraction.contains('.'));
    match (number, 10_i128.checked_pow(fraction.len() as u32)) {
        (Some(number), Some(denominator)) => Ok(Node::Number(number, denominator)),
        _ => Err(format!("must hold numbers, and \"{token}\" is none")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sizes() -> Sizes {
        [("n".to_owned(), 1000), ("d".to_owned(), 64), ("zero".to_owned(), 0)].into()
    }

    #[test]
    fn sizes_and_numbers_are_reckoned_exactly() {
        for (text, expected) in [
            ("ceil(n / 256)", 4),
            ("floor(n/256)", 3),
            ("n % 256", 232),
            ("2 * (d + 1) - 3", 127),
            ("-n + 2*n", 1000),
            ("n / 8 / 5", 25),
            ("0.5 * n", 500),
            ("min(n, d) + max(1, d)", 128),
            ("ceil(-n / 256)", -3),
            ("1024", 1024),
        ] {
            assert_eq!(Expression::parse(text).unwrap().whole(&sizes()), Ok(expected), "{text}");
        }
        let scale = Expression::parse("1 / sqrt(d)").unwrap().value(&sizes()).unwrap();
        assert_eq!(scale, Value::Float(0.125));
        assert_eq!(Expression::parse(" n *2").unwrap(), Expression::parse("n*2").unwrap());
    }

    #[test]
    fn what_cannot_be_is_explained() {
        for (text, word) in [
            ("n / 256", "not whole"),
            ("m", "no size m"),
            ("n / zero", "division by zero"),
            ("n % zero", "division by zero"),
            ("sqrt(n)", "square root"),
            ("sqrt(-1) + 0", "not a number"),
        ] {
            let error = Expression::parse(text).unwrap().whole(&sizes()).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
        for text in
            ["", "n +", "(n", "n)", "n n", "2n", "pow(n, 2)", "ceil()", "min(n)", "n; ls", "1.2.3", "ä"]
        {
            assert!(Expression::parse(text).is_err(), "{text}");
        }
        assert!(Expression::parse(&"(".repeat(100)).is_err());
        assert!(Expression::parse(&"-".repeat(100)).is_err());
        let large = Expression::parse(&["n"; 50].join("*")).unwrap();
        assert!(large.whole(&sizes()).unwrap_err().contains("too large"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[-+*/%(),. a-z0-9]{0,60}|\\PC{0,20}", n in any::<i64>()) {
            let sizes: Sizes = [("n".to_owned(), n), ("a".to_owned(), 3)].into();
            if let Ok(read) = Expression::parse(&text) {
                let _ = read.whole(&sizes);
                prop_assert_eq!(Expression::parse(&read.to_string()).unwrap(), read);
            }
        }

        #[test]
        fn ceil_covers_every_element(n in 0..1_000_000_i64, block in 1..2048_i64) {
            let sizes: Sizes = [("n".to_owned(), n), ("b".to_owned(), block)].into();
            let blocks = Expression::parse("ceil(n / b)").unwrap().whole(&sizes).unwrap();
            prop_assert!(blocks * block >= n && (blocks - 1) * block < n.max(1));
        }
    }
}
