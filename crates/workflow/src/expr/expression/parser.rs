//! From tokens to the tree: operators by precedence.

use super::ExpressionError;
use super::lexer::{self, Positioned, Token};
use super::syntax::{Binary, Kind, Node, Unary};

/// Deeper nesting than this is an error rather than a full stack.
const DEEPEST: usize = 100;
const DEEPEST_TREE: usize = 300;

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

pub(super) fn parse(text: &str) -> Result<Node, ExpressionError> {
    let mut parser = Parser {
        tokens: lexer::tokens(text)?,
        at: 0,
        depth: 0,
        closures: 0,
    };
    let node = parser.whole()?;
    if *parser.peek() != Token::End {
        return Err(parser.unexpected());
    }
    Ok(node)
}

struct Parser {
    tokens: Vec<Positioned>,
    at: usize,
    depth: usize,
    closures: usize,
}

type Parsed = Result<Node, ExpressionError>;

/// An infix operator: how tightly it binds, and whether it groups to the right.
struct Infix {
    operator: Binary,
    strength: u16,
    to_the_right: bool,
}

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.at].token
    }

    fn peek_next(&self) -> &Token {
        let next = (self.at + 1).min(self.tokens.len() - 1);
        &self.tokens[next].token
    }

    fn offset(&self) -> usize {
        self.tokens[self.at].offset
    }

    fn advance(&mut self) -> Token {
        let token = self.tokens[self.at].token.clone();
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        token
    }

    fn take(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), Token::Symbol(next) if *next == symbol);
        if found {
            self.advance();
        }
        found
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Token::Word(next) if next == word);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, symbol: &str) -> Result<(), ExpressionError> {
        if self.take(symbol) {
            Ok(())
        } else {
            Err(self.unexpected())
        }
    }

    fn unexpected(&self) -> ExpressionError {
        let shown = match self.peek() {
            Token::Int(value) => value.to_string(),
            Token::Float(value) => value.to_string(),
            Token::Text(text) => format!("{text:?}"),
            Token::Word(word) => word.clone(),
            Token::Pointer(name) => format!("#{name}"),
            Token::Symbol(symbol) => (*symbol).to_owned(),
            Token::End => "end of expression".to_owned(),
        };
        ExpressionError::new(self.offset(), format!("unexpected {shown}"))
    }

    fn deeper(&mut self, parse: impl FnOnce(&mut Self) -> Parsed) -> Parsed {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(ExpressionError::new(
                self.offset(),
                "expression is nested too deeply",
            ));
        }
        let node = parse(self)?;
        self.depth -= 1;
        Ok(node)
    }

    /// A whole expression: `let` bindings, pipes, choices.
    fn whole(&mut self) -> Parsed {
        let offset = self.offset();
        if self.take_word("let") {
            let Token::Word(name) = self.advance() else {
                return Err(self.unexpected());
            };
            self.expect("=")?;
            let value = Box::new(self.deeper(Self::choice)?);
            self.expect(";")?;
            let body = Box::new(self.deeper(Self::whole)?);
            return Ok(Node::new(offset, Kind::Let { name, value, body }));
        }
        if matches!((self.peek(), self.peek_next()), (Token::Word(word), next)
            if word == "if" && *next != Token::Symbol("(") && *next != Token::Symbol("."))
        {
            self.advance();
            return self.branches(offset);
        }
        self.choice()
    }

    /// `if c { a } else { b }`, after the `if`.
    fn branches(&mut self, offset: usize) -> Parsed {
        let condition = Box::new(self.deeper(Self::choice)?);
        self.expect("{")?;
        let yes = Box::new(self.deeper(Self::whole)?);
        self.expect("}")?;
        if !self.take_word("else") {
            return Err(self.unexpected());
        }
        let at_else = self.offset();
        let no = if self.take_word("if") {
            self.deeper(|parser| parser.branches(at_else))?
        } else {
            self.expect("{")?;
            let no = self.deeper(Self::whole)?;
            self.expect("}")?;
            no
        };
        Ok(Node::new(
            offset,
            Kind::Choose(condition, yes, Box::new(no)),
        ))
    }

    fn choice(&mut self) -> Parsed {
        let offset = self.offset();
        let condition = self.infix(0)?;
        if self.take("?:") {
            let no = self.deeper(Self::choice)?;
            let yes = condition.clone();
            let kind = Kind::Choose(Box::new(condition), Box::new(yes), Box::new(no));
            return Ok(Node::new(offset, kind));
        }
        if !self.take("?") {
            return Ok(condition);
        }
        let yes = self.deeper(Self::choice)?;
        self.expect(":")?;
        let no = self.deeper(Self::choice)?;
        Ok(Node::new(
            offset,
            Kind::Choose(Box::new(condition), Box::new(yes), Box::new(no)),
        ))
    }

    fn infix(&mut self, weakest: u16) -> Parsed {
        let mut left = self.deeper(Self::prefix)?;
        loop {
            let offset = self.offset();
            if weakest == 0 && self.take("|") {
                left = self.piped(left)?;
                check_depth(&left)?;
                continue;
            }
            let negated = matches!(self.peek(), Token::Word(word) if word == "not");
            let found = if negated {
                operator(self.peek_next()).filter(|infix| {
                    matches!(
                        infix.operator,
                        Binary::In
                            | Binary::Matches
                            | Binary::Contains
                            | Binary::StartsWith
                            | Binary::EndsWith
                    )
                })
            } else {
                operator(self.peek())
            };
            let Some(infix) = found.filter(|infix| infix.strength >= weakest) else {
                return Ok(left);
            };
            if negated {
                self.advance();
            }
            self.advance();
            let weakest = infix.strength + u16::from(!infix.to_the_right);
            let right = self.deeper(|parser| parser.infix(weakest))?;
            let kind = Kind::Binary(infix.operator, Box::new(left), Box::new(right));
            left = Node::new(offset, kind);
            if negated {
                left = Node::new(offset, Kind::Unary(Unary::Not, Box::new(left)));
            }
            check_depth(&left)?;
        }
    }

    /// The right side of `|`: a call that gets `left` as its first argument.
    fn piped(&mut self, left: Node) -> Parsed {
        let offset = self.offset();
        let Token::Word(mut function) = self.peek().clone() else {
            return Err(self.unexpected());
        };
        self.advance();
        while self.take(".") {
            let Token::Word(member) = self.peek().clone() else {
                return Err(self.unexpected());
            };
            self.advance();
            function = format!("{function}.{member}");
        }
        self.expect("(")?;
        let call = self.call(offset, function, vec![left])?;
        self.postfix(call)
    }

    fn prefix(&mut self) -> Parsed {
        let offset = self.offset();
        let (unary, strength) = match self.peek() {
            Token::Symbol("!") => (Unary::Not, 50),
            Token::Word(word) if word == "not" => (Unary::Not, 50),
            Token::Symbol("-") => (Unary::Minus, 90),
            Token::Symbol("+") => (Unary::Plus, 90),
            _ => return self.operand(),
        };
        self.advance();
        let inner = self.deeper(|parser| parser.infix(strength))?;
        Ok(Node::new(offset, Kind::Unary(unary, Box::new(inner))))
    }

    fn operand(&mut self) -> Parsed {
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
    fn call(&mut self, offset: usize, function: String, mut arguments: Vec<Node>) -> Parsed {
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

    fn postfix(&mut self, mut base: Node) -> Parsed {
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

/// Operators in a row nest to the left without the parser nesting.
fn check_depth(node: &Node) -> Result<(), ExpressionError> {
    if node.depth > DEEPEST_TREE {
        return Err(ExpressionError::new(
            node.offset,
            "expression is nested too deeply",
        ));
    }
    Ok(())
}

fn member(offset: usize, base: Node, key: Node, optional: bool) -> Node {
    let kind = Kind::Member {
        base: Box::new(base),
        key: Box::new(key),
        optional,
    };
    Node::new(offset, kind)
}

fn operator(token: &Token) -> Option<Infix> {
    let text = match token {
        Token::Symbol(symbol) => symbol,
        Token::Word(word) => word.as_str(),
        Token::Int(_) | Token::Float(_) | Token::Text(_) | Token::Pointer(_) | Token::End => {
            return None;
        }
    };
    let (operator, strength) = match text {
        "or" | "||" => (Binary::Or, 10),
        "and" | "&&" => (Binary::And, 15),
        "==" => (Binary::Equal, 20),
        "!=" => (Binary::NotEqual, 20),
        "<" => (Binary::Less, 20),
        ">" => (Binary::Greater, 20),
        "<=" => (Binary::LessOrEqual, 20),
        ">=" => (Binary::GreaterOrEqual, 20),
        "in" => (Binary::In, 20),
        "matches" => (Binary::Matches, 20),
        "contains" => (Binary::Contains, 20),
        "startsWith" => (Binary::StartsWith, 20),
        "endsWith" => (Binary::EndsWith, 20),
        ".." => (Binary::Range, 25),
        "+" => (Binary::Add, 30),
        "-" => (Binary::Subtract, 30),
        "*" => (Binary::Multiply, 60),
        "/" => (Binary::Divide, 60),
        "%" => (Binary::Modulo, 60),
        "**" | "^" => (Binary::Power, 100),
        "??" => (Binary::Coalesce, 500),
        _ => return None,
    };
    Some(Infix {
        operator,
        strength,
        to_the_right: operator == Binary::Power,
    })
}
