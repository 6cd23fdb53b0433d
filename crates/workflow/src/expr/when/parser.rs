//! From a condition's tokens to its tree.

use super::lexer::Token;
use super::{Node, Value};

/// Deeper nesting than this is an error rather than a full stack.
const DEEPEST: usize = 100;
/// So are more operators than this, which nest to the left.
const MOST_OPERATORS: usize = 500;

pub(super) fn parse(tokens: &[Token]) -> Result<Node, String> {
    check_balance(tokens)?;
    check_order(tokens)?;
    let is_operator = |token: &&Token| {
        matches!(
            token,
            Token::Comparator(_) | Token::Logical(_) | Token::Modifier(_) | Token::Ternary(_)
        )
    };
    if tokens.iter().filter(is_operator).count() > MOST_OPERATORS {
        return Err("expression is too long".to_owned());
    }
    let mut parser = Parser {
        tokens,
        at: 0,
        depth: 0,
    };
    let node = parser.list()?;
    match parser.peek() {
        None => Ok(node),
        Some(token) => Err(format!(
            "Unable to plan token kind: '{}', value: '{}'",
            token.kind(),
            token.shown()
        )),
    }
}

fn check_balance(tokens: &[Token]) -> Result<(), String> {
    let mut open = 0_i64;
    for token in tokens {
        match token {
            Token::Open => open += 1,
            Token::Close => open -= 1,
            _ => {}
        }
    }
    if open != 0 {
        return Err("Unbalanced parenthesis".to_owned());
    }
    Ok(())
}

fn check_order(tokens: &[Token]) -> Result<(), String> {
    let mut before: Option<&Token> = None;
    for token in tokens {
        let fits = match (before, token) {
            (None, token) => is_operand_start(token),
            (Some(Token::Open), Token::Close) => true,
            (Some(Token::Prefix(_)), Token::Prefix(_)) => false,
            (Some(before), token) if before.wants_operand() => is_operand_start(token),
            (Some(_), token) => {
                token.wants_operand() && !is_operand_start(token) || *token == Token::Close
            }
        };
        if !fits {
            return Err(match before {
                None => format!(
                    "Cannot transition token types from UNKNOWN [<nil>] to {} [{}]",
                    token.kind(),
                    token.shown()
                ),
                Some(before) => format!(
                    "Cannot transition token types from {} [{}] to {} [{}]",
                    before.kind(),
                    before.shown(),
                    token.kind(),
                    token.shown()
                ),
            });
        }
        before = Some(token);
    }
    match before {
        Some(token) if token.wants_operand() => Err("Unexpected end of expression".to_owned()),
        Some(_) | None => Ok(()),
    }
}

fn is_operand_start(token: &Token) -> bool {
    match token {
        Token::Prefix(_) | Token::Open => true,
        other => !other.wants_operand() && *other != Token::Close,
    }
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: usize,
}

/// Operators from the weakest to the strongest.
const LEVELS: [&[&str]; 8] = [
    &["||"],
    &["&&"],
    &["==", "!=", ">", ">=", "<", "<=", "=~", "!~", "in"],
    &["&", "|", "^"],
    &[">>", "<<"],
    &["+", "-"],
    &["*", "/", "%"],
    &["**"],
];

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn list(&mut self) -> Result<Node, String> {
        let first = self.choice()?;
        if self.peek() != Some(&Token::Separator) {
            return Ok(first);
        }
        let mut items = vec![first];
        while self.peek() == Some(&Token::Separator) {
            self.at += 1;
            items.push(self.choice()?);
        }
        Ok(Node::List(items))
    }

    fn choice(&mut self) -> Result<Node, String> {
        let mut node = self.infix(0)?;
        loop {
            match self.peek() {
                Some(Token::Ternary("??")) => {
                    self.at += 1;
                    let right = self.infix(0)?;
                    node = Node::Infix("??", Box::new(node), Box::new(right));
                }
                Some(Token::Ternary("?")) => {
                    self.at += 1;
                    let yes = self.deeper(Self::choice)?;
                    let mut no = None;
                    if self.peek() == Some(&Token::Ternary(":")) {
                        self.at += 1;
                        no = Some(Box::new(self.deeper(Self::choice)?));
                    }
                    node = Node::Choose(Box::new(node), Box::new(yes), no);
                }
                _ => return Ok(node),
            }
        }
    }

    fn infix(&mut self, level: usize) -> Result<Node, String> {
        let Some(operators) = LEVELS.get(level) else {
            return self.prefix();
        };
        let mut left = self.infix(level + 1)?;
        loop {
            let found = match self.peek() {
                Some(Token::Comparator(text) | Token::Logical(text) | Token::Modifier(text)) => {
                    operators.contains(text).then_some(*text)
                }
                _ => None,
            };
            let Some(operator) = found else {
                return Ok(left);
            };
            self.at += 1;
            let right = self.infix(level + 1)?;
            left = Node::Infix(operator, Box::new(left), Box::new(right));
        }
    }

    fn prefix(&mut self) -> Result<Node, String> {
        if let Some(Token::Prefix(prefix)) = self.peek() {
            let prefix = *prefix;
            self.at += 1;
            return Ok(Node::Prefix(prefix, Box::new(self.prefix()?)));
        }
        self.operand()
    }

    fn deeper(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Result<Node, String>,
    ) -> Result<Node, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("expression is nested too deeply".to_owned());
        }
        let node = parse(self)?;
        self.depth -= 1;
        Ok(node)
    }

    fn operand(&mut self) -> Result<Node, String> {
        let token = self.peek().cloned();
        self.at += 1;
        let literal = |value| Ok(Node::Literal(value));
        match token {
            Some(Token::Number(value) | Token::Time(value)) => literal(Value::Number(value)),
            Some(Token::Bool(value)) => literal(Value::Bool(value)),
            Some(Token::Text(text)) => literal(Value::Text(text)),
            Some(Token::Word(word)) => Ok(Node::Word(word)),
            Some(Token::Open) => {
                if self.peek() == Some(&Token::Close) {
                    self.at += 1;
                    return literal(Value::Nil);
                }
                let inner = self.deeper(Self::list)?;
                if self.peek() != Some(&Token::Close) {
                    return Err("Unbalanced parenthesis".to_owned());
                }
                self.at += 1;
                Ok(inner)
            }
            Some(token) => Err(format!(
                "Unable to plan token kind: '{}', value: '{}'",
                token.kind(),
                token.shown()
            )),
            None => Err("Unexpected end of expression".to_owned()),
        }
    }
}
