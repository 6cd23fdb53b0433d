//! The tree of an expression.

/// One part of an expression, and where it starts.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) offset: usize,
    /// Levels below this part, itself included.
    pub(super) depth: usize,
    pub(super) kind: Kind,
}

/// What a part is.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    Nil,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
    /// A variable.
    Name(String),
    /// `#`, `#acc`, `#index`: what a closure is called with.
    Pointer(String),
    Unary(Unary, Box<Node>),
    Binary(Binary, Box<Node>, Box<Node>),
    Choose(Box<Node>, Box<Node>, Box<Node>),
    Member {
        base: Box<Node>,
        key: Box<Node>,
        optional: bool,
    },
    Slice {
        base: Box<Node>,
        from: Option<Box<Node>>,
        to: Option<Box<Node>>,
    },
    /// A function of the language, or `sprig.…`.
    Call {
        function: String,
        arguments: Vec<Node>,
    },
    /// A method of a value.
    Method {
        base: Box<Node>,
        name: String,
        arguments: Vec<Node>,
    },
    /// The argument of a function that calls it: `{# > 1}`.
    Closure(Box<Node>),
    Let {
        name: String,
        value: Box<Node>,
        body: Box<Node>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unary {
    Not,
    Minus,
    Plus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    Greater,
    LessOrEqual,
    GreaterOrEqual,
    In,
    Matches,
    Contains,
    StartsWith,
    EndsWith,
    Range,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Power,
    Coalesce,
}

impl Node {
    pub(super) fn new(offset: usize, kind: Kind) -> Self {
        let mut node = Node {
            offset,
            depth: 0,
            kind,
        };
        let mut deepest = 0;
        node.for_each_part(&mut |part| deepest = deepest.max(part.depth));
        node.depth = deepest + 1;
        node
    }

    /// Calls `visit` with each direct part.
    pub(super) fn for_each_part<'a>(&'a self, visit: &mut dyn FnMut(&'a Node)) {
        match &self.kind {
            Kind::Nil
            | Kind::Bool(_)
            | Kind::Int(_)
            | Kind::Float(_)
            | Kind::Text(_)
            | Kind::Name(_)
            | Kind::Pointer(_) => {}
            Kind::List(items) => items.iter().for_each(visit),
            Kind::Map(entries) => {
                for (key, value) in entries {
                    visit(key);
                    visit(value);
                }
            }
            Kind::Unary(_, inner) | Kind::Closure(inner) => visit(inner),
            Kind::Binary(_, left, right) => {
                visit(left);
                visit(right);
            }
            Kind::Choose(condition, yes, no) => {
                visit(condition);
                visit(yes);
                visit(no);
            }
            Kind::Member { base, key, .. } => {
                visit(base);
                visit(key);
            }
            Kind::Slice { base, from, to } => {
                visit(base);
                from.iter().chain(to).for_each(|part| visit(part));
            }
            Kind::Call { arguments, .. } => arguments.iter().for_each(visit),
            Kind::Method {
                base, arguments, ..
            } => {
                visit(base);
                arguments.iter().for_each(visit);
            }
            Kind::Let { value, body, .. } => {
                visit(value);
                visit(body);
            }
        }
    }
}
