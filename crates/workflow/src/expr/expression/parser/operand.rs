//! Operands: literals, names, calls, and what follows them.

use super::super::ExpressionError;
use super::super::lexer::Token;
use super::super::syntax::{Kind, Node};
use super::{Parsed, Parser, check_depth};

/// Functions whose argument after the first is a closure.
const CLOSURE_FUNCTIONS: [&str; 14] = [
    "all",
    "none",
    "any",
    "one",
    "filter",
    "map",
    "count",
    "sum",
    "find",
    "findIndex",
    "findLast",
    "findLastIndex",
    "groupBy",
    "sortBy",
];

impl Parser {
    pub(super) fn operand(&mut self) -> Parsed {
        let offset = self.offset();
        let token = self.peek().clone();
        let kind = match token {
            Token::Int(value) => Kind::Int(value),
            Token::Float(value) => Kind::Float(value),
            Token::Text(text) => Kind::Text(text),
            Token::Pointer(name) if self.closures > 0 => Kind::Pointer(name),
            Token::Symbol("." | "?.") if self.closures > 0 => {
                return self.postfix(Node::new(offset, Kind::Pointer(String::new())));
            }
            Token::Symbol("(") => {
                self.advance();
                let inner = self.deeper(Self::whole)?;
                self.expect(")")?;
                return self.postfix(inner);
            }
            Token::Symbol("[") => {
                self.advance();
                let items = self.list("]")?;
                return self.postfix(Node::new(offset, Kind::List(items)));
            }
            Token::Symbol("{") => {
                self.advance();
                let map = self.map(offset)?;
                return self.postfix(map);
            }
            Token::Symbol("::") => {
                self.advance();
                return self.operand();
            }
            Token::Word(word) => return self.word(offset, word),
            Token::Pointer(_) | Token::Symbol(_) | Token::End => return Err(self.unexpected()),
        };
        self.advance();
        self.postfix(Node::new(offset, kind))
    }

    fn word(&mut self, offset: usize, word: String) -> Parsed {
        let kind = match word.as_str() {
            "nil" => Kind::Nil,
            "true" => Kind::Bool(true),
            "false" => Kind::Bool(false),
            "in" | "matches" | "contains" | "startsWith" | "endsWith" | "and" | "or" => {
                return Err(self.unexpected());
            }
            _ => {
                self.advance();
                if self.take("(") {
                    let call = self.call(offset, word, Vec::new())?;
                    return self.postfix(call);
                }
                return self.postfix(Node::new(offset, Kind::Name(word)));
            }
        };
        self.advance();
        self.postfix(Node::new(offset, kind))
    }

    /// Elements up to `close`, separated by commas; one may trail.
    fn list(&mut self, close: &str) -> Result<Vec<Node>, ExpressionError> {
        let mut items = Vec::new();
        loop {
            if self.take(close) {
                return Ok(items);
            }
            items.push(self.deeper(Self::whole)?);
            if !self.take(",") {
                self.expect(close)?;
                return Ok(items);
            }
        }
    }

    fn map(&mut self, offset: usize) -> Parsed {
        let mut entries = Vec::new();
        loop {
            if self.take("}") {
                break;
            }
            let at = self.offset();
            let key = match self.peek().clone() {
                Token::Word(text) | Token::Text(text) => {
                    self.advance();
                    Node::new(at, Kind::Text(text))
                }
                Token::Int(value) => {
                    self.advance();
                    Node::new(at, Kind::Text(value.to_string()))
                }
                Token::Symbol("(") => {
                    self.advance();
                    let key = self.deeper(Self::whole)?;
                    self.expect(")")?;
                    key
                }
                _ => return Err(self.unexpected()),
            };
            self.expect(":")?;
            entries.push((key, self.deeper(Self::whole)?));
            if !self.take(",") {
                self.expect("}")?;
                break;
            }
        }
        Ok(Node::new(offset, Kind::Map(entries)))
    }

    /// The arguments of a call after its parenthesis; `arguments` holds what a pipe brought.
    pub(super) fn call(
        &mut self,
        offset: usize,
        function: String,
        mut arguments: Vec<Node>,
    ) -> Parsed {
        let takes_closure = CLOSURE_FUNCTIONS.contains(&function.as_str());
        let reduces = function == "reduce";
        loop {
            if self.take(")") {
                break;
            }
            let is_closure = (takes_closure || reduces) && arguments.len() == 1;
            let argument = if is_closure {
                self.closure()?
            } else {
                self.deeper(Self::whole)?
            };
            arguments.push(argument);
            if !self.take(",") {
                self.expect(")")?;
                break;
            }
        }
        Ok(Node::new(
            offset,
            Kind::Call {
                function,
                arguments,
            },
        ))
    }

    fn closure(&mut self) -> Parsed {
        let offset = self.offset();
        let braced = self.take("{");
        self.closures += 1;
        let body = self.deeper(Self::whole)?;
        self.closures -= 1;
        if braced {
            self.expect("}")?;
        }
        Ok(Node::new(offset, Kind::Closure(Box::new(body))))
    }

    pub(super) fn postfix(&mut self, mut base: Node) -> Parsed {
        loop {
            check_depth(&base)?;
            let offset = self.offset();
            if self.take("?.") {
                if self.take("[") {
                    let key = self.deeper(Self::whole)?;
                    self.expect("]")?;
                    base = member(offset, base, key, true);
                } else {
                    base = self.member(offset, base, true)?;
                }
            } else if self.take(".") {
                base = self.member(offset, base, false)?;
            } else if self.take("[") {
                base = self.subscript(offset, base)?;
            } else {
                return Ok(base);
            }
        }
    }

    /// What follows a dot: a member, or a method or library function that is called.
    fn member(&mut self, offset: usize, base: Node, optional: bool) -> Parsed {
        let at = self.offset();
        let name = match self.peek().clone() {
            Token::Word(name) => name,
            _ => return Err(self.unexpected()),
        };
        self.advance();
        if self.take("(") {
            if let Kind::Name(library) = &base.kind
                && library == "sprig"
            {
                return self.call(base.offset, format!("sprig.{name}"), Vec::new());
            }
            let arguments = self.list(")")?;
            return Ok(Node::new(
                at,
                Kind::Method {
                    base: Box::new(base),
                    name,
                    arguments,
                },
            ));
        }
        Ok(member(
            offset,
            base,
            Node::new(at, Kind::Text(name)),
            optional,
        ))
    }

    fn subscript(&mut self, offset: usize, base: Node) -> Parsed {
        let mut from = None;
        if !self.take(":") {
            let key = self.deeper(Self::whole)?;
            if self.take("]") {
                return Ok(member(offset, base, key, false));
            }
            self.expect(":")?;
            from = Some(Box::new(key));
        }
        let mut to = None;
        if !self.take("]") {
            to = Some(Box::new(self.deeper(Self::whole)?));
            self.expect("]")?;
        }
        Ok(Node::new(
            offset,
            Kind::Slice {
                base: Box::new(base),
                from,
                to,
            },
        ))
    }
}

fn member(offset: usize, base: Node, key: Node, optional: bool) -> Node {
    let kind = Kind::Member {
        base: Box::new(base),
        key: Box::new(key),
        optional,
    };
    Node::new(offset, kind)
}
