//! Walking the tree.

use std::collections::BTreeMap;

use super::builtins;
use super::closures;
use super::operators::{self, LONGEST};
use super::random::Random;
use super::syntax::{Binary, Kind, Node, Unary};
use super::value::Value;
use super::{ExpressionError, Moment, sprig, time};

/// More parts than this are not evaluated; it ends runaway nests of closures.
const MOST_STEPS: u64 = 1_000_000;

pub(super) type Evaluated = Result<Value, ExpressionError>;

pub(super) fn evaluate(
    root: &Node,
    variables: &BTreeMap<String, Value>,
    text: &str,
    moment: &Moment,
) -> Evaluated {
    let mut evaluator = Evaluator {
        variables,
        moment,
        random: Random::new(moment.seed, text),
        bound: Vec::new(),
        pointers: Vec::new(),
        steps: 0,
    };
    evaluator.value(root)
}

/// What a closure is called with.
pub(super) struct Pointers {
    pub(super) item: Value,
    pub(super) index: usize,
    pub(super) accumulated: Value,
}

pub(super) struct Evaluator<'a> {
    variables: &'a BTreeMap<String, Value>,
    pub(super) moment: &'a Moment,
    pub(super) random: Random,
    bound: Vec<(&'a str, Value)>,
    pub(super) pointers: Vec<Pointers>,
    steps: u64,
}

impl<'a> Evaluator<'a> {
    pub(super) fn value(&mut self, node: &'a Node) -> Evaluated {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return Err(ExpressionError::new(
                node.offset,
                "expression takes too long",
            ));
        }
        match &node.kind {
            Kind::Nil => Ok(Value::Nil),
            Kind::Bool(value) => Ok(Value::Bool(*value)),
            Kind::Int(value) => Ok(Value::Int(*value)),
            Kind::Float(value) => Ok(Value::Float(*value)),
            Kind::Text(text) => Ok(Value::text(text.as_str())),
            Kind::List(items) => {
                let items: Result<_, _> = items.iter().map(|item| self.value(item)).collect();
                Ok(Value::list(items?))
            }
            Kind::Map(entries) => self.map(entries),
            Kind::Name(name) => self.name(node, name),
            Kind::Pointer(name) => self.pointer(node, name),
            Kind::Unary(unary, inner) => self.unary(*unary, inner),
            Kind::Binary(operator, left, right) => self.binary(node, *operator, left, right),
            Kind::Choose(condition, yes, no) => {
                if self.condition(condition)? {
                    self.value(yes)
                } else {
                    self.value(no)
                }
            }
            Kind::Member { .. } => Ok(self.chain(node)?.unwrap_or(Value::Nil)),
            Kind::Slice { base, from, to } => {
                self.slice(node, base, from.as_deref(), to.as_deref())
            }
            Kind::Call {
                function,
                arguments,
            } => self.call(node, function, arguments),
            Kind::Method {
                base,
                name,
                arguments,
            } => {
                let base = self.value(base)?;
                let arguments = self.values(arguments)?;
                time::method(&base, name, &arguments)
                    .map_err(|message| ExpressionError::new(node.offset, message))
            }
            Kind::Closure(body) => self.value(body),
            Kind::Let { name, value, body } => {
                let value = self.value(value)?;
                self.bound.push((name, value));
                let result = self.value(body);
                self.bound.pop();
                result
            }
        }
    }

    pub(super) fn condition(&mut self, node: &'a Node) -> Result<bool, ExpressionError> {
        match self.value(node)? {
            Value::Bool(holds) => Ok(holds),
            other => {
                let message = format!(
                    "non-bool expression (type {}) used as condition",
                    other.kind()
                );
                Err(ExpressionError::new(node.offset, message))
            }
        }
    }

    pub(super) fn values(&mut self, nodes: &'a [Node]) -> Result<Vec<Value>, ExpressionError> {
        nodes.iter().map(|node| self.value(node)).collect()
    }

    fn map(&mut self, entries: &'a [(Node, Node)]) -> Evaluated {
        let mut map = BTreeMap::new();
        for (key, value) in entries {
            let key = match self.value(key)? {
                Value::Text(key) => key.to_string(),
                other => other.to_string(),
            };
            map.insert(key, self.value(value)?);
        }
        Ok(Value::map(map))
    }

    fn name(&mut self, node: &Node, name: &str) -> Evaluated {
        if let Some((_, value)) = self.bound.iter().rev().find(|(bound, _)| *bound == name) {
            return Ok(value.clone());
        }
        if let Some(value) = self.variables.get(name) {
            return Ok(value.clone());
        }
        if name == "$env" {
            return Ok(Value::map(self.variables.clone()));
        }
        Err(ExpressionError::new(
            node.offset,
            format!("unknown name {name}"),
        ))
    }

    fn pointer(&mut self, node: &Node, name: &str) -> Evaluated {
        let Some(pointers) = self.pointers.last() else {
            return Err(ExpressionError::new(
                node.offset,
                "`#` outside of a closure",
            ));
        };
        match name {
            "" => Ok(pointers.item.clone()),
            "acc" => Ok(pointers.accumulated.clone()),
            "index" => Ok(Value::Int(
                i64::try_from(pointers.index).unwrap_or(i64::MAX),
            )),
            _ => Err(ExpressionError::new(
                node.offset,
                format!("unknown pointer #{name}"),
            )),
        }
    }

    fn unary(&mut self, unary: Unary, inner: &'a Node) -> Evaluated {
        let value = self.value(inner)?;
        let negated = match (unary, &value) {
            (Unary::Not, Value::Bool(value)) => Some(Value::Bool(!value)),
            (Unary::Minus, Value::Int(value)) => value.checked_neg().map(Value::Int),
            (Unary::Minus, Value::Float(value)) => Some(Value::Float(-value)),
            (Unary::Minus, Value::Duration(value)) => value.checked_neg().map(Value::Duration),
            (Unary::Plus, Value::Int(_) | Value::Float(_)) => Some(value.clone()),
            _ => None,
        };
        negated.ok_or_else(|| {
            let sign = match unary {
                Unary::Not => "!",
                Unary::Minus => "-",
                Unary::Plus => "+",
            };
            let message = format!(
                "invalid operation: {sign} (mismatched type {})",
                value.kind()
            );
            ExpressionError::new(inner.offset, message)
        })
    }

    fn binary(
        &mut self,
        node: &Node,
        operator: Binary,
        left: &'a Node,
        right: &'a Node,
    ) -> Evaluated {
        match operator {
            Binary::Or => Ok(Value::Bool(self.condition(left)? || self.condition(right)?)),
            Binary::And => Ok(Value::Bool(self.condition(left)? && self.condition(right)?)),
            Binary::Coalesce => match self.value(left)? {
                Value::Nil => self.value(right),
                value => Ok(value),
            },
            _ => {
                let left = self.value(left)?;
                let right = self.value(right)?;
                operators::apply(operator, &left, &right)
                    .map_err(|message| ExpressionError::new(node.offset, message))
            }
        }
    }

    /// A chain of members up to `node`; `None` where `?.` cut it short.
    fn chain(&mut self, node: &'a Node) -> Result<Option<Value>, ExpressionError> {
        let Kind::Member {
            base,
            key,
            optional,
        } = &node.kind
        else {
            return self.value(node).map(Some);
        };
        let Some(value) = self.chain(base)? else {
            return Ok(None);
        };
        if *optional && value == Value::Nil {
            return Ok(None);
        }
        let key = self.value(key)?;
        let member = member_of(&value, &key);
        member
            .map(Some)
            .map_err(|message| ExpressionError::new(node.offset, message))
    }

    fn slice(
        &mut self,
        node: &Node,
        base: &'a Node,
        from: Option<&'a Node>,
        to: Option<&'a Node>,
    ) -> Evaluated {
        let base = self.value(base)?;
        let from = from.map(|node| self.value(node)).transpose()?;
        let to = to.map(|node| self.value(node)).transpose()?;
        slice_of(&base, from.as_ref(), to.as_ref())
            .map_err(|message| ExpressionError::new(node.offset, message))
    }

    fn call(&mut self, node: &'a Node, function: &str, arguments: &'a [Node]) -> Evaluated {
        if let Some(closure) = arguments
            .get(1)
            .filter(|node| matches!(node.kind, Kind::Closure(_)))
        {
            return closures::call(self, node, function, arguments, closure);
        }
        let values = self.values(arguments)?;
        let called = match function.strip_prefix("sprig.") {
            Some(name) => sprig::call(self, name, &values),
            None => builtins::call(self, function, &values),
        };
        called.map_err(|message| ExpressionError::new(node.offset, message))
    }
}

/// A member of a map or an element of a list.
pub(super) fn member_of(base: &Value, key: &Value) -> Result<Value, String> {
    match (base, key) {
        (Value::Map(map), Value::Text(key)) => Ok(map.get(&**key).cloned().unwrap_or(Value::Nil)),
        // `groupBy` may have made the key of a number or a boolean.
        (Value::Map(map), Value::Int(_) | Value::Bool(_)) => {
            Ok(map.get(&key.to_string()).cloned().unwrap_or(Value::Nil))
        }
        (Value::List(items), Value::Int(index)) => {
            let place = if *index < 0 {
                *index + items.len() as i64
            } else {
                *index
            };
            let found = usize::try_from(place)
                .ok()
                .and_then(|place| items.get(place));
            found.cloned().ok_or_else(|| {
                format!(
                    "index out of range: {index} (array length is {})",
                    items.len()
                )
            })
        }
        (Value::Text(text), Value::Int(index)) => {
            let length = text.chars().count();
            let place = if *index < 0 {
                *index + length as i64
            } else {
                *index
            };
            let found = usize::try_from(place)
                .ok()
                .and_then(|place| text.chars().nth(place));
            found
                .map(|c| Value::text(c.to_string()))
                .ok_or_else(|| format!("index out of range: {index} (string length is {length})"))
        }
        (base, key) => {
            let base = if *base == Value::Nil {
                "<nil>"
            } else {
                base.kind()
            };
            Err(format!("cannot fetch {key} from {base}"))
        }
    }
}

fn slice_of(base: &Value, from: Option<&Value>, to: Option<&Value>) -> Result<Value, String> {
    let length = match base {
        Value::List(items) => items.len(),
        Value::Text(text) => text.len(),
        other => return Err(format!("cannot slice {}", other.kind())),
    };
    let bound = |value: Option<&Value>, missing: usize| match value {
        None => Ok(missing),
        Some(Value::Int(index)) => {
            let index = if *index < 0 {
                *index + length as i64
            } else {
                *index
            };
            Ok(usize::try_from(index).unwrap_or(0).min(length))
        }
        Some(other) => Err(format!("non-integer slice index {}", other.kind())),
    };
    let to = bound(to, length)?;
    let from = bound(from, 0)?.min(to);
    match base {
        Value::List(items) => Ok(Value::list(items[from..to].to_vec())),
        Value::Text(text) => match text.get(from..to) {
            Some(part) => Ok(Value::text(part)),
            None => Ok(Value::text(String::from_utf8_lossy(
                &text.as_bytes()[from..to],
            ))),
        },
        other => Err(format!("cannot slice {}", other.kind())),
    }
}

/// Refuses texts that would grow beyond reason.
pub(super) fn bounded(length: usize) -> Result<(), String> {
    if length > LONGEST * 10 {
        return Err("memory budget exceeded".to_owned());
    }
    Ok(())
}
