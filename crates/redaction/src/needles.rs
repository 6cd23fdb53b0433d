//! The values to find, and the automaton that finds all their forms at once.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use aho_corasick::{
    Anchored, MatchKind,
    automaton::{Automaton, StateID},
    dfa,
    nfa::contiguous,
};

use crate::forms::add_forms;

/// Values with fewer characters are not masked: they would be found everywhere.
pub const MIN_CHARACTERS: usize = 5;

/// Forms of all values together may have so many bytes; it bounds the automaton's memory (40 MB, for
/// a moment 80 MB). A value of 3 KB has about 90 KB of forms.
const MAX_FORM_BYTES: usize = 2 << 20;

/// Up to so many bytes of forms the fast automaton is used, beyond it the small one.
const MAX_FAST_BYTES: usize = 64 << 10;

/// Why needles could not be made.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum NeedlesError {
    /// The values are too long to be searched for within bounded memory.
    #[error(
        "secret values are too long to be masked: the longest is `{longest}` with {bytes} bytes"
    )]
    TooLong {
        /// Name of the longest value.
        longest: String,
        /// Its length in bytes.
        bytes: usize,
    },
}

/// The values to find, in all their forms. Cheap to clone. Its `Debug` shows names only.
#[derive(Clone)]
pub struct Needles {
    inner: Arc<Inner>,
}

struct Inner {
    names: BTreeSet<String>,
    unmasked: Vec<String>,
    finder: Option<Finder>,
}

/// An automaton over all forms.
pub(crate) struct Finder {
    automaton: Kind,
    /// Longest form that ends in a state is found here by its first pattern; names by pattern.
    owners: Vec<Arc<str>>,
    /// Number of bytes that a state stands for, sorted by state.
    depths: Vec<(StateID, u32)>,
}

enum Kind {
    Fast(dfa::DFA),
    Small(contiguous::NFA),
}

/// A form that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    /// Number of bytes.
    pub(crate) length: usize,
    /// Which form.
    pattern: usize,
}

impl Needles {
    /// Takes values with the names by which they are spoken of. White space around a value and
    /// around each line of it is not part of it; each line of a value of several lines is a needle
    /// of its own. Empty values are passed over.
    ///
    /// # Errors
    /// When the values are too long to be searched for within bounded memory.
    pub fn new<N, V>(values: impl IntoIterator<Item = (N, V)>) -> Result<Self, NeedlesError>
    where
        N: Into<String>,
        V: AsRef<[u8]>,
    {
        let mut names = BTreeSet::new();
        let mut unmasked = Vec::new();
        let mut owners: BTreeMap<Vec<u8>, Arc<str>> = BTreeMap::new();
        let mut form_bytes = 0;
        let mut longest = (0, String::new());
        for (name, value) in values {
            let name = name.into();
            let value = value.as_ref().trim_ascii();
            if value.is_empty() {
                continue;
            }
            if characters(value) < MIN_CHARACTERS {
                unmasked.push(name);
                continue;
            }
            if value.len() > longest.0 {
                longest = (value.len(), name.clone());
            }
            if value.len() > MAX_FORM_BYTES / 8 {
                let bytes = value.len();
                return Err(NeedlesError::TooLong {
                    longest: name,
                    bytes,
                });
            }
            let owner: Arc<str> = name.as_str().into();
            let mut forms = BTreeSet::new();
            add_forms(value, |line| characters(line) >= MIN_CHARACTERS, &mut forms);
            for form in forms {
                let length = form.len();
                if let std::collections::btree_map::Entry::Vacant(entry) = owners.entry(form) {
                    form_bytes += length;
                    entry.insert(Arc::clone(&owner));
                }
            }
            if form_bytes > MAX_FORM_BYTES {
                let (bytes, longest) = longest;
                return Err(NeedlesError::TooLong { longest, bytes });
            }
            names.insert(name);
        }
        let finder = (!owners.is_empty()).then(|| Finder::new(owners, form_bytes));
        let inner = Inner {
            names,
            unmasked,
            finder,
        };
        Ok(Needles {
            inner: Arc::new(inner),
        })
    }

    /// No values: everything passes.
    pub fn none() -> Self {
        Needles {
            inner: Arc::new(Inner {
                names: BTreeSet::new(),
                unmasked: Vec::new(),
                finder: None,
            }),
        }
    }

    /// Names of the values that are searched for.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.inner.names.iter().map(String::as_str)
    }

    /// Names of values that are too short to be masked, in the order given. The user must be told.
    pub fn unmasked_names(&self) -> &[String] {
        &self.inner.unmasked
    }

    /// The name of the first value that occurs in `bytes`, in any form.
    pub fn contains(&self, bytes: &[u8]) -> Option<&str> {
        let finder = self.finder()?;
        let mut first = None;
        finder.scan(finder.start(), bytes, |_, hit| {
            first = Some(hit);
            Go::Stop
        });
        first.map(|hit| &*finder.owners[hit.pattern])
    }

    pub(crate) fn finder(&self) -> Option<&Finder> {
        self.inner.finder.as_ref()
    }
}

impl fmt::Debug for Needles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Needles")
            .field("names", &self.inner.names)
            .field("unmasked_names", &self.inner.unmasked)
            .finish_non_exhaustive()
    }
}

/// Characters of a text; bytes of what is no text.
fn characters(value: &[u8]) -> usize {
    std::str::from_utf8(value).map_or(value.len(), |text| text.chars().count())
}

/// Whether a scan goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Go {
    On,
    Stop,
}

impl Finder {
    fn new(owners: BTreeMap<Vec<u8>, Arc<str>>, form_bytes: usize) -> Self {
        let (forms, owners): (Vec<Vec<u8>>, Vec<Arc<str>>) = owners.into_iter().unzip();
        let limits = "the number of form bytes is bounded";
        let automaton = if form_bytes <= MAX_FAST_BYTES {
            let mut builder = dfa::DFA::builder();
            builder.match_kind(MatchKind::Standard).prefilter(false);
            Kind::Fast(builder.build(&forms).expect(limits))
        } else {
            let mut builder = contiguous::NFA::builder();
            builder.match_kind(MatchKind::Standard).prefilter(false);
            Kind::Small(builder.build(&forms).expect(limits))
        };
        let depths = match &automaton {
            Kind::Fast(automaton) => depths(automaton, &forms),
            Kind::Small(automaton) => depths(automaton, &forms),
        };
        Finder {
            automaton,
            owners,
            depths,
        }
    }

    /// The state before the first byte.
    pub(crate) fn start(&self) -> StateID {
        match &self.automaton {
            Kind::Fast(automaton) => start(automaton),
            Kind::Small(automaton) => start(automaton),
        }
    }

    /// Goes over `bytes` from `state` and tells `found` of the longest form that ends at each place,
    /// with the number of bytes up to its end. Answers the state at the end.
    pub(crate) fn scan(
        &self,
        state: StateID,
        bytes: &[u8],
        found: impl FnMut(usize, Hit) -> Go,
    ) -> StateID {
        match &self.automaton {
            Kind::Fast(automaton) => scan(automaton, state, bytes, found),
            Kind::Small(automaton) => scan(automaton, state, bytes, found),
        }
    }

    /// How many of the last bytes may be the beginning of a form.
    pub(crate) fn depth(&self, state: StateID) -> usize {
        depth_of(&self.depths, state).expect("every state stands for the beginning of a form")
            as usize
    }
}

fn start(automaton: &impl Automaton) -> StateID {
    automaton
        .start_state(Anchored::No)
        .expect("the automaton is built for unanchored searches")
}

fn scan(
    automaton: &impl Automaton,
    mut state: StateID,
    bytes: &[u8],
    mut found: impl FnMut(usize, Hit) -> Go,
) -> StateID {
    for (index, byte) in bytes.iter().enumerate() {
        state = automaton.next_state(Anchored::No, state, *byte);
        if automaton.is_special(state)
            && automaton.is_match(state)
            && found(index + 1, longest(automaton, state)) == Go::Stop
        {
            break;
        }
    }
    state
}

fn longest(automaton: &impl Automaton, state: StateID) -> Hit {
    (0..automaton.match_len(state))
        .map(|index| automaton.match_pattern(state, index))
        .map(|pattern| Hit {
            length: automaton.pattern_len(pattern),
            pattern: pattern.as_usize(),
        })
        .max_by_key(|hit| hit.length)
        .expect("a match state has a pattern")
}

/// For every state, how many of the last bytes may still become a form. The state after each
/// beginning of a form stands for just that beginning, and these are all the states. A form that is
/// no beginning of a longer one can't go on: for it counts what its longest other ending may become.
fn depths(automaton: &impl Automaton, forms: &[Vec<u8>]) -> Vec<(StateID, u32)> {
    let walk = |bytes: &[u8]| {
        bytes.iter().fold(start(automaton), |state, byte| {
            automaton.next_state(Anchored::No, state, *byte)
        })
    };
    let mut depths = vec![(start(automaton), 0)];
    for form in forms {
        let mut state = start(automaton);
        for (byte, depth) in form.iter().zip(1..form.len() as u32) {
            state = automaton.next_state(Anchored::No, state, *byte);
            depths.push((state, depth));
        }
    }
    depths.sort_unstable();
    depths.dedup();
    let mut by_length: Vec<&Vec<u8>> = forms.iter().collect();
    by_length.sort_by_key(|form| form.len());
    let mut ends = BTreeMap::new();
    for form in by_length {
        let end = walk(form);
        if depth_of(&depths, end).is_none() {
            let ending = walk(&form[1..]);
            let depth = depth_of(&depths, ending).or_else(|| ends.get(&ending).copied());
            ends.insert(end, depth.expect("shorter forms came first"));
        }
    }
    depths.extend(ends);
    depths.sort_unstable();
    depths
}

fn depth_of(depths: &[(StateID, u32)], state: StateID) -> Option<u32> {
    let place = depths.binary_search_by_key(&state, |(state, _)| *state);
    place.ok().map(|place| depths[place].1)
}
