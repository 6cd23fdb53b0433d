//! From the text of `depends` to its tree.

use super::{Depends, DependsError, DependsErrorKind, Operand, TaskResult, Tree};
use crate::expr::scope::likeness;

/// Deeper nesting than this is an error rather than a full stack.
const DEEPEST: usize = 200;

pub(super) fn parse(text: &str) -> Result<Depends, DependsError> {
    let mut parser = Parser {
        text,
        at: 0,
        depth: 0,
        operands: Vec::new(),
    };
    parser.skip_blanks();
    if parser.at == text.len() {
        return Ok(Depends {
            text: text.to_owned(),
            tree: Tree::Literal(true),
            operands: Vec::new(),
        });
    }
    let tree = parser.choice()?;
    if parser.at < text.len() {
        return Err(parser.unexpected());
    }
    Ok(Depends {
        text: text.to_owned(),
        tree,
        operands: parser.operands,
    })
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    operands: Vec<Operand>,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip_blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn error(&self, kind: DependsErrorKind) -> DependsError {
        DependsError {
            kind,
            offset: self.at,
        }
    }

    fn unexpected(&self) -> DependsError {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else {
            return self.error(DependsErrorKind::UnexpectedEnd);
        };
        let word = word(rest);
        let shown = if word.is_empty() {
            first.to_string()
        } else {
            word.to_owned()
        };
        self.error(DependsErrorKind::Unexpected(shown))
    }

    /// Takes `symbol`, and the blanks after it, if it comes next.
    fn take(&mut self, symbol: &str) -> bool {
        let found = self.rest().starts_with(symbol);
        if found {
            self.at += symbol.len();
            self.skip_blanks();
        }
        found
    }

    /// Takes a word operator such as `and`.
    fn take_word(&mut self, operator: &str) -> bool {
        word(self.rest()) == operator && self.take(operator)
    }

    fn choice(&mut self) -> Result<Tree, DependsError> {
        let condition = self.either()?;
        if !self.take("?") {
            return Ok(condition);
        }
        let yes = self.nested(Self::choice)?;
        if !self.take(":") {
            return Err(self.unexpected());
        }
        let no = self.nested(Self::choice)?;
        Ok(Tree::Choose(
            Box::new(condition),
            Box::new(yes),
            Box::new(no),
        ))
    }

    fn either(&mut self) -> Result<Tree, DependsError> {
        let mut parts = vec![self.both()?];
        while self.take("||") || self.take_word("or") {
            parts.push(self.both()?);
        }
        Ok(joined(parts, Tree::Any))
    }

    fn both(&mut self) -> Result<Tree, DependsError> {
        let mut parts = vec![self.compared()?];
        while self.take("&&") || self.take_word("and") {
            parts.push(self.compared()?);
        }
        Ok(joined(parts, Tree::All))
    }

    fn compared(&mut self) -> Result<Tree, DependsError> {
        let left = self.single()?;
        if self.take("==") {
            return Ok(Tree::Equal(Box::new(left), Box::new(self.single()?)));
        }
        if self.take("!=") {
            let right = self.single()?;
            return Ok(Tree::Not(Box::new(Tree::Equal(
                Box::new(left),
                Box::new(right),
            ))));
        }
        Ok(left)
    }

    fn single(&mut self) -> Result<Tree, DependsError> {
        if self.take("!") {
            return Ok(Tree::Not(Box::new(self.nested(Self::single)?)));
        }
        if self.take_word("not") {
            return Ok(Tree::Not(Box::new(self.nested(Self::compared)?)));
        }
        let open = self.at;
        if self.take("(") {
            let inner = self.nested(Self::choice)?;
            if self.take(")") {
                return Ok(inner);
            }
            if self.at < self.text.len() {
                return Err(self.unexpected());
            }
            return Err(DependsError {
                kind: DependsErrorKind::Unclosed,
                offset: open,
            });
        }
        self.operand()
    }

    fn nested(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Result<Tree, DependsError>,
    ) -> Result<Tree, DependsError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.error(DependsErrorKind::TooDeep));
        }
        let tree = parse(self)?;
        self.depth -= 1;
        Ok(tree)
    }

    fn operand(&mut self) -> Result<Tree, DependsError> {
        let offset = self.at;
        let name = word(self.rest()).to_owned();
        match name.as_str() {
            "" | "and" | "or" => return Err(self.unexpected()),
            "true" | "false" => {
                self.take(&name);
                return Ok(Tree::Literal(name == "true"));
            }
            _ => {}
        }
        self.at += name.len();
        let mut result = None;
        if let Some(after_dot) = self.rest().strip_prefix('.') {
            let written = word(after_dot).to_owned();
            let known = TaskResult::ALL
                .into_iter()
                .find(|known| known.as_str() == written);
            let Some(known) = known else {
                self.at += 1;
                let nearest = nearest_result(&written);
                return Err(self.error(DependsErrorKind::UnknownResult {
                    task: name,
                    result: written,
                    nearest,
                }));
            };
            self.at += 1 + written.len();
            result = Some(known);
        }
        let length = self.at - offset;
        self.skip_blanks();
        self.operands.push(Operand {
            name,
            result,
            offset,
            length,
        });
        Ok(Tree::Operand(self.operands.len() - 1))
    }
}

fn joined(mut parts: Vec<Tree>, join: fn(Vec<Tree>) -> Tree) -> Tree {
    match parts.len() {
        1 => parts.remove(0),
        _ => join(parts),
    }
}

/// The longest start of `text` that can be a name.
fn word(text: &str) -> &str {
    let starts = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if !text.starts_with(starts) {
        return "";
    }
    let end = text
        .find(|c: char| !starts(c) && c != '-')
        .unwrap_or(text.len());
    &text[..end]
}

fn nearest_result(written: &str) -> Option<TaskResult> {
    let near =
        |result: &TaskResult| likeness(&written.to_lowercase(), &result.as_str().to_lowercase());
    TaskResult::ALL
        .into_iter()
        .max_by(|a, b| near(a).total_cmp(&near(b)))
        .filter(|result| near(result) > 0.5)
}
