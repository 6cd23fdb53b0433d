//! Masking one stream as it comes.

use std::{collections::VecDeque, fmt};

use aho_corasick::automaton::StateID;

use crate::needles::{Finder, Go, Needles};

/// What stands in the place of a value.
pub const MASK: &[u8] = b"***";

/// How far a stream has been handed out. A masker made by [`Masker::resume`] and fed with the raw
/// bytes from `offset` on continues exactly where the one that reported this position stood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Raw bytes that are fully accounted for in what was handed out.
    pub offset: u64,
    /// How many raw bytes from `offset` on belong to a value whose mask was handed out already. It
    /// is 0 but where values overlap each other.
    pub covered: u64,
}

/// Masks one stream. Fed with chunks of any size it gives the same bytes in sum. It holds back no
/// more than the beginning of a form that may go on in the next chunk.
///
/// Where values overlap, all of what they cover becomes one mask.
#[derive(Clone)]
pub struct Masker {
    needles: Needles,
    /// The automaton's state after the last byte of `held`; `None` without needles.
    state: Option<StateID>,
    position: Position,
    /// Raw bytes from the position on.
    held: Vec<u8>,
    /// Forms found among them.
    hits: Hits,
}

impl Masker {
    /// A masker at the beginning of a stream.
    pub fn new(needles: &Needles) -> Self {
        Masker::resume(needles, Position::default())
    }

    /// A masker that continues a stream; feed it the raw bytes from `position.offset` on.
    pub fn resume(needles: &Needles, position: Position) -> Self {
        Masker {
            needles: needles.clone(),
            state: needles.finder().map(Finder::start),
            position,
            held: Vec::new(),
            hits: Hits::default(),
        }
    }

    /// Takes the next raw bytes and answers the masked bytes that can be told by now.
    pub fn feed(&mut self, chunk: &[u8]) -> Vec<u8> {
        let Some(state) = self.state else {
            self.position.offset += chunk.len() as u64;
            return chunk.to_vec();
        };
        let needles = self.needles.clone();
        let finder = needles
            .finder()
            .expect("there is a state only with needles");
        let begun = self.held.len();
        self.held.extend_from_slice(chunk);
        let hits = &mut self.hits;
        let state = finder.scan(state, chunk, |end, hit| {
            let end = begun + end;
            hits.add(end.saturating_sub(hit.length), end);
            Go::On
        });
        self.state = Some(state);
        self.hand_out(self.held.len() - finder.depth(state))
    }

    /// Ends the stream: answers what was held back.
    pub fn finish(&mut self) -> Vec<u8> {
        self.state = self.needles.finder().map(Finder::start);
        self.hand_out(self.held.len())
    }

    /// How far the stream has been handed out by [`feed`](Masker::feed) so far. Store it after what
    /// was handed out is stored.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Number of raw bytes held back.
    pub fn held_back(&self) -> usize {
        self.held.len()
    }

    /// Hands out the first `told` held bytes. Every form that begins among them has been found: none
    /// of them ends after the held bytes.
    fn hand_out(&mut self, told: usize) -> Vec<u8> {
        let mut masked = Vec::with_capacity(told);
        let mut covered = usize::try_from(self.position.covered).unwrap_or(usize::MAX);
        let mut next = 0;
        loop {
            let hit = self.hits.take_before(told);
            let from = covered.max(next).min(told);
            let to = hit.map_or(told, |(start, _)| start).max(from);
            masked.extend_from_slice(&self.held[from..to]);
            next = to;
            let Some((start, end)) = hit else { break };
            if start >= covered {
                masked.extend_from_slice(MASK);
            }
            covered = covered.max(end);
        }
        self.position.offset += told as u64;
        self.position.covered = covered.saturating_sub(told) as u64;
        self.held.drain(..told);
        self.hits.shift(told);
        masked
    }
}

impl fmt::Debug for Masker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Masker")
            .field("needles", &self.needles)
            .field("position", &self.position)
            .field("held_back", &self.held.len())
            .finish_non_exhaustive()
    }
}

/// Places of forms among the held bytes, in order and apart: those that overlap are one.
#[derive(Clone, Default)]
struct Hits(VecDeque<(usize, usize)>);

impl Hits {
    /// Adds a place that ends after all the others.
    fn add(&mut self, mut start: usize, end: usize) {
        while let Some((_, last)) = self.0.back().filter(|(_, last)| *last > start) {
            debug_assert!(*last <= end, "places come in the order of their ends");
            let (earlier, _) = self.0.pop_back().expect("there is a last one");
            start = start.min(earlier);
        }
        self.0.push_back((start, end));
    }

    /// Takes the first place if it begins before `limit`.
    fn take_before(&mut self, limit: usize) -> Option<(usize, usize)> {
        self.0.pop_front_if(|(start, _)| *start < limit)
    }

    /// Moves all places down by `by`, since so many held bytes are gone.
    fn shift(&mut self, by: usize) {
        for (start, end) in &mut self.0 {
            *start -= by;
            *end -= by;
        }
    }
}
