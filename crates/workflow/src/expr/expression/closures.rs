//! Functions that call a closure for each item: `map`, `filter`, `reduce` and their like.

use std::collections::BTreeMap;

use super::ExpressionError;
use super::evaluate::{Evaluated, Evaluator, Pointers};
use super::operators;
use super::syntax::Node;
use super::value::Value;

pub(super) fn call<'a>(
    evaluator: &mut Evaluator<'a>,
    node: &'a Node,
    function: &str,
    arguments: &'a [Node],
    closure: &'a Node,
) -> Evaluated {
    let wrong = |message: String| ExpressionError::new(node.offset, message);
    let items = match evaluator.value(&arguments[0])? {
        Value::List(items) => items,
        other => {
            let message = format!("builtin {function} takes only array (got {})", other.kind());
            return Err(wrong(message));
        }
    };
    let mut calls = Calls { evaluator, closure };
    match function {
        "all" => Ok(Value::Bool(calls.first(&items, false)?.is_none())),
        "any" => Ok(Value::Bool(calls.first(&items, true)?.is_some())),
        "none" => Ok(Value::Bool(calls.first(&items, true)?.is_none())),
        "one" => Ok(Value::Bool(calls.matching(&items)?.len() == 1)),
        "count" => Ok(whole(calls.matching(&items)?.len())),
        "filter" => {
            let found = calls.matching(&items)?;
            Ok(Value::list(
                found
                    .into_iter()
                    .map(|index| items[index].clone())
                    .collect(),
            ))
        }
        "map" => Ok(Value::list(calls.mapped(&items)?)),
        "find" => Ok(calls
            .first(&items, true)?
            .map_or(Value::Nil, |index| items[index].clone())),
        "findIndex" => Ok(calls.first(&items, true)?.map_or(Value::Int(-1), whole)),
        "findLast" => {
            let found = calls.matching(&items)?.pop();
            Ok(found.map_or(Value::Nil, |index| items[index].clone()))
        }
        "findLastIndex" => Ok(calls.matching(&items)?.pop().map_or(Value::Int(-1), whole)),
        "sum" => {
            let mut sum = Value::Int(0);
            for value in calls.mapped(&items)? {
                sum = operators::apply(super::syntax::Binary::Add, &sum, &value).map_err(wrong)?;
            }
            Ok(sum)
        }
        "groupBy" => {
            let mut groups: BTreeMap<String, Vec<Value>> = BTreeMap::new();
            for (key, item) in calls.mapped(&items)?.into_iter().zip(items.iter()) {
                groups
                    .entry(key.to_string())
                    .or_default()
                    .push(item.clone());
            }
            let groups = groups
                .into_iter()
                .map(|(key, items)| (key, Value::list(items)));
            Ok(Value::map(groups.collect()))
        }
        "sortBy" => {
            let keys = calls.mapped(&items)?;
            let descending = match arguments.get(2) {
                Some(node) => evaluator.value(node)? == Value::text("desc"),
                None => false,
            };
            sort_by(&keys, &items, descending).map_err(wrong)
        }
        "reduce" => {
            let start = arguments
                .get(2)
                .map(|node| calls.evaluator.value(node))
                .transpose()?;
            calls.reduced(&items, start)
        }
        _ => Err(wrong(format!("unknown function {function}"))),
    }
}

fn whole(number: usize) -> Value {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

fn sort_by(keys: &[Value], items: &[Value], descending: bool) -> Result<Value, String> {
    let mut places: Vec<usize> = (0..items.len()).collect();
    if let Some(first) = keys.first()
        && let Some(strange) = keys
            .iter()
            .find(|key| operators::order(first, key).is_none())
    {
        return Err(format!(
            "cannot sort {} with {}",
            first.kind(),
            strange.kind()
        ));
    }
    places.sort_by(|a, b| {
        let order = operators::order(&keys[*a], &keys[*b]).unwrap_or(std::cmp::Ordering::Equal);
        if descending { order.reverse() } else { order }
    });
    Ok(Value::list(
        places
            .into_iter()
            .map(|place| items[place].clone())
            .collect(),
    ))
}

struct Calls<'e, 'a> {
    evaluator: &'e mut Evaluator<'a>,
    closure: &'a Node,
}

impl Calls<'_, '_> {
    fn with(&mut self, item: &Value, index: usize, accumulated: Value) -> Evaluated {
        self.evaluator.pointers.push(Pointers {
            item: item.clone(),
            index,
            accumulated,
        });
        let result = self.evaluator.value(self.closure);
        self.evaluator.pointers.pop();
        result
    }

    fn holds(&mut self, item: &Value, index: usize) -> Result<bool, ExpressionError> {
        match self.with(item, index, Value::Nil)? {
            Value::Bool(holds) => Ok(holds),
            other => Err(ExpressionError::new(
                self.closure.offset,
                format!("predicate should return boolean (got {})", other.kind()),
            )),
        }
    }

    fn first(&mut self, items: &[Value], wanted: bool) -> Result<Option<usize>, ExpressionError> {
        for (index, item) in items.iter().enumerate() {
            if self.holds(item, index)? == wanted {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    fn matching(&mut self, items: &[Value]) -> Result<Vec<usize>, ExpressionError> {
        let mut found = Vec::new();
        for (index, item) in items.iter().enumerate() {
            if self.holds(item, index)? {
                found.push(index);
            }
        }
        Ok(found)
    }

    fn mapped(&mut self, items: &[Value]) -> Result<Vec<Value>, ExpressionError> {
        let call = |(index, item)| self.with(item, index, Value::Nil);
        items.iter().enumerate().map(call).collect()
    }

    fn reduced(&mut self, items: &[Value], start: Option<Value>) -> Evaluated {
        let mut rest = items.iter().enumerate();
        let mut accumulated = match start {
            Some(start) => start,
            None => match rest.next() {
                Some((_, first)) => first.clone(),
                None => {
                    return Err(ExpressionError::new(
                        self.closure.offset,
                        "reduce of empty array with no initial value",
                    ));
                }
            },
        };
        for (index, item) in rest {
            accumulated = self.with(item, index, accumulated)?;
        }
        Ok(accumulated)
    }
}
