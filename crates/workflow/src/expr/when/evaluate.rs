//! Walking a condition's tree.

use super::{BareWords, Node, Value};

pub(super) fn value(node: &Node, words: BareWords) -> Result<Value, String> {
    match node {
        Node::Literal(value) => Ok(value.clone()),
        Node::Word(word) => match words {
            BareWords::Texts => Ok(Value::Text(word.clone())),
            BareWords::Unknown => Err(format!("No parameter '{word}' found.")),
        },
        Node::List(items) => {
            let items: Result<_, _> = items.iter().map(|item| value(item, words)).collect();
            Ok(Value::List(items?))
        }
        Node::Prefix(prefix, inner) => prefixed(prefix, &value(inner, words)?),
        Node::Choose(condition, yes, no) => match (value(condition, words)?, no) {
            (Value::Bool(true), _) => value(yes, words),
            (Value::Bool(false), Some(no)) => value(no, words),
            (Value::Bool(false), None) => Ok(Value::Nil),
            (other, _) => Err(cannot(&other, "ternary operator", "?", "it is not a bool")),
        },
        Node::Infix("??", left, right) => match value(left, words)? {
            Value::Nil => value(right, words),
            found => Ok(found),
        },
        Node::Infix(operator @ ("&&" | "||"), left, right) => {
            let left = boolean(operator, value(left, words)?)?;
            if left == (*operator == "||") {
                return Ok(Value::Bool(left));
            }
            boolean(operator, value(right, words)?).map(Value::Bool)
        }
        Node::Infix(operator, left, right) => {
            infix(operator, &value(left, words)?, &value(right, words)?)
        }
    }
}

fn cannot(value: &Value, what: &str, operator: &str, why: &str) -> String {
    format!("Value '{value}' cannot be used with the {what} '{operator}', {why}")
}

fn boolean(operator: &str, value: Value) -> Result<bool, String> {
    match value {
        Value::Bool(holds) => Ok(holds),
        other => Err(cannot(
            &other,
            "logical operator",
            operator,
            "it is not a bool",
        )),
    }
}

fn prefixed(prefix: &str, value: &Value) -> Result<Value, String> {
    match (prefix, value) {
        ("!", Value::Bool(holds)) => Ok(Value::Bool(!holds)),
        ("-", Value::Number(number)) => Ok(Value::Number(-number)),
        ("~", Value::Number(number)) => Ok(Value::Number(!(*number as i64) as f64)),
        _ => Err(format!(
            "Value '{value}' cannot be used with the prefix '{prefix}'"
        )),
    }
}

fn infix(operator: &str, left: &Value, right: &Value) -> Result<Value, String> {
    match operator {
        "==" => Ok(Value::Bool(left == right)),
        "!=" => Ok(Value::Bool(left != right)),
        ">" | ">=" | "<" | "<=" => compare(operator, left, right),
        "=~" | "!~" => matches(operator, left, right),
        "in" => match right {
            Value::List(items) => Ok(Value::Bool(items.contains(left))),
            other => Err(cannot(other, "comparator", "in", "it is not an array")),
        },
        "+" if matches!(left, Value::Text(_)) || matches!(right, Value::Text(_)) => {
            Ok(Value::Text(format!("{left}{right}")))
        }
        _ => calculate(operator, left, right),
    }
}

fn compare(operator: &str, left: &Value, right: &Value) -> Result<Value, String> {
    let order = match (left, right) {
        (Value::Number(a), Value::Number(b)) => a.partial_cmp(b),
        (Value::Text(a), Value::Text(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
        (Value::Number(_), other) | (other, _) => {
            return Err(cannot(other, "comparator", operator, "it is not a number"));
        }
    };
    let Some(order) = order else {
        return Ok(Value::Bool(false));
    };
    Ok(Value::Bool(match operator {
        ">" => order.is_gt(),
        ">=" => order.is_ge(),
        "<" => order.is_lt(),
        _ => order.is_le(),
    }))
}

fn matches(operator: &str, left: &Value, right: &Value) -> Result<Value, String> {
    let (Value::Text(text), Value::Text(pattern)) = (left, right) else {
        let wrong = if matches!(left, Value::Text(_)) {
            right
        } else {
            left
        };
        return Err(cannot(wrong, "comparator", operator, "it is not a string"));
    };
    let pattern = regex::RegexBuilder::new(pattern)
        .size_limit(1 << 20)
        .build()
        .map_err(|_| format!("Unable to compile regexp pattern '{pattern}'"))?;
    Ok(Value::Bool(pattern.is_match(text) == (operator == "=~")))
}

fn calculate(operator: &str, left: &Value, right: &Value) -> Result<Value, String> {
    let number = |value: &Value| match value {
        Value::Number(number) => Ok(*number),
        other => Err(cannot(other, "modifier", operator, "it is not a number")),
    };
    let (a, b) = (number(left)?, number(right)?);
    let (whole_a, whole_b) = (a as i64, b as i64);
    let shift = u32::try_from(whole_b).ok().filter(|shift| *shift < 64);
    Ok(Value::Number(match operator {
        "+" => a + b,
        "-" => a - b,
        "*" => a * b,
        "/" => a / b,
        "%" => a % b,
        "**" => a.powf(b),
        "&" => (whole_a & whole_b) as f64,
        "|" => (whole_a | whole_b) as f64,
        "^" => (whole_a ^ whole_b) as f64,
        "<<" => shift.map_or(0, |shift| whole_a << shift) as f64,
        ">>" => shift.map_or(0, |shift| whole_a >> shift) as f64,
        _ => return Err(format!("Invalid operator '{operator}'")),
    }))
}
