//! The archive of logs: compressed pieces in append-only chunk files, and their places in the
//! database.

use std::{collections::VecDeque, path::Path, sync::Arc};

use async_trait::async_trait;
use groundplan_engine::id::StepId;
use groundplan_ports::{
    error::{ErrorKind, PortError, PortResult},
    logs::{LogFrame, LogHit, LogRecord, LogSource, Logs},
};

use self::{
    appender::Appender,
    chunk::Chunk,
    index::{Piece, Place},
    piece::PIECE,
    scan::Scanner,
};
use crate::{
    database::{Database, Hint, blocking},
    directory::DataDirectory,
};

mod appender;
mod chunk;
mod index;
mod piece;
mod scan;

/// Closed logs in the data directory. Memory does not grow with a log's length.
#[derive(Clone, Debug)]
pub struct LogArchive {
    database: Database,
    directory: Arc<Path>,
}

impl LogArchive {
    /// The archive of this data directory. Blocks.
    pub fn open(directory: &DataDirectory, database: Database) -> PortResult<Self> {
        let directory = directory.subdirectory("logs")?;
        Ok(LogArchive {
            database,
            directory: directory.into(),
        })
    }

    async fn find(&self, step: &StepId) -> PortResult<Option<Place>> {
        let step = step.clone();
        self.database.read(move |db| index::find(db, &step)).await
    }

    /// An appender on a chunk that nobody else appends to, behind everything that is in the index.
    async fn appender(&self) -> PortResult<Appender> {
        let directory = Arc::clone(&self.directory);
        let chunk = blocking(move || Chunk::acquire(&directory)).await?;
        let number = chunk.number();
        let end = self
            .database
            .read(move |db| index::end_of_chunk(db, number))
            .await?;
        blocking(move || Appender::new(chunk, end)).await
    }

    /// What holds of a log that could not be read: *not found* where it was deleted meanwhile.
    async fn explain(&self, place: &Place, error: PortError) -> PortError {
        match self.find(&place.record.step).await {
            Ok(Some(found)) if found.log == place.log => error,
            Ok(_) => not_found(&place.record.step),
            Err(error) => error,
        }
    }

    /// Scans one log.
    async fn scan(&self, place: &Place, mut scanner: Scanner) -> PortResult<Scanner> {
        let pieces = self.pieces(place.log).await?;
        let (directory, scanned) = (Arc::clone(&self.directory), place.clone());
        let scanned = blocking(move || {
            for piece in pieces {
                for frame in piece::read(&directory, &scanned, &piece)? {
                    scanner.take(&frame.bytes);
                }
                if scanner.is_full() {
                    return Ok(scanner);
                }
            }
            scanner.end();
            Ok(scanner)
        });
        match scanned.await {
            Ok(scanner) => Ok(scanner),
            Err(error) => Err(self.explain(place, error).await),
        }
    }

    async fn pieces(&self, log: i64) -> PortResult<Vec<Piece>> {
        self.database.read(move |db| index::pieces(db, log)).await
    }
}

#[async_trait]
impl Logs for LogArchive {
    async fn close(&self, step: &StepId, source: &mut dyn LogSource) -> PortResult<LogRecord> {
        if let Some(place) = self.find(step).await? {
            return Ok(place.record);
        }
        let mut appender = self.appender().await?;
        loop {
            let batch = batch(source).await?;
            if batch.is_empty() {
                break;
            }
            appender = blocking(move || appender.take(&batch)).await?;
        }
        let appended = blocking(move || appender.finish()).await?;
        let step = step.clone();
        // The chunk stays locked until the transaction is on the disk: its lock travels with the
        // answer, which the writer gives or drops only then.
        let (record, _appended) = self
            .database
            .write(Hint::Spare, move |db| {
                let record = index::insert(db, &step, &appended)?;
                Ok((record, appended.keep()))
            })
            .await?;
        Ok(record)
    }

    async fn record(&self, step: &StepId) -> PortResult<Option<LogRecord>> {
        Ok(self.find(step).await?.map(|place| place.record))
    }

    async fn read(&self, step: &StepId, offset: u64) -> PortResult<Box<dyn LogSource>> {
        let place = self.find(step).await?.ok_or_else(|| not_found(step))?;
        let pieces: VecDeque<Piece> = self.pieces(place.log).await?.into();
        let before = pieces.partition_point(|piece| piece.offset <= offset);
        let pieces = pieces.into_iter().skip(before.saturating_sub(1)).collect();
        Ok(Box::new(Reader {
            archive: self.clone(),
            place,
            pieces,
            offset,
        }))
    }

    async fn search(&self, needle: &str, limit: usize) -> PortResult<Vec<LogHit>> {
        if needle.is_empty() || needle.contains('\n') {
            return Err(PortError::new(
                ErrorKind::Invalid,
                "a search needs a text within one line",
            ));
        }
        let mut hits = Vec::new();
        let mut after = 0;
        loop {
            let next = self.database.read(move |db| index::next(db, after)).await?;
            let Some(place) = next.filter(|_| hits.len() < limit) else {
                return Ok(hits);
            };
            after = place.log;
            let step = place.record.step.clone();
            let scanner = Scanner::new(needle.as_bytes(), limit - hits.len());
            let scanner = match self.scan(&place, scanner).await {
                Err(error) if error.kind == ErrorKind::NotFound => continue,
                scanned => scanned?,
            };
            hits.extend(scanner.hits().map(|(offset, line)| LogHit {
                step: step.clone(),
                offset,
                line,
            }));
        }
    }

    async fn delete(&self, step: &StepId) -> PortResult<()> {
        let Some(place) = self.find(step).await? else {
            return Ok(());
        };
        let (log, number) = (place.log, place.chunk);
        let pieces = self.pieces(log).await?;
        let directory = Arc::clone(&self.directory);
        // Where somebody appends right now, the bytes stay until the chunk is empty.
        let chunk = blocking(move || Chunk::lock(&directory, number)).await?;
        let (deleted, left, chunk) = self
            .database
            .write(Hint::Spare, move |db| {
                let deleted = index::delete(db, log)?;
                Ok((deleted, index::end_of_chunk(db, number)?, chunk))
            })
            .await?;
        match chunk {
            Some(chunk) if left == 0 => blocking(move || chunk.remove()).await,
            // Where another deleted it first, its place may hold another log by now.
            Some(chunk) if deleted => blocking(move || chunk.release_space(&pieces)).await,
            _ => Ok(()),
        }
    }
}

fn not_found(step: &StepId) -> PortError {
    PortError::new(ErrorKind::NotFound, format!("there is no log of `{step}`"))
}

/// Frames of about one piece; none when the source has no more.
async fn batch(source: &mut dyn LogSource) -> PortResult<Vec<LogFrame>> {
    let mut batch = Vec::new();
    let mut size = 0;
    while size < PIECE {
        let Some(frames) = source.next().await? else {
            break;
        };
        size += frames.iter().map(|frame| frame.bytes.len()).sum::<usize>();
        batch.extend(frames);
    }
    Ok(batch)
}

/// A log from an offset on.
struct Reader {
    archive: LogArchive,
    place: Place,
    pieces: VecDeque<Piece>,
    offset: u64,
}

#[async_trait]
impl LogSource for Reader {
    async fn next(&mut self) -> PortResult<Option<Vec<LogFrame>>> {
        while let Some(piece) = self.pieces.front().cloned() {
            let directory = Arc::clone(&self.archive.directory);
            let (place, begin) = (self.place.clone(), piece.offset);
            let frames = match blocking(move || piece::read(&directory, &place, &piece)).await {
                Ok(frames) => frames,
                Err(error) => return Err(self.archive.explain(&self.place, error).await),
            };
            self.pieces.pop_front();
            let frames = piece::from_offset(frames, self.offset.saturating_sub(begin));
            if !frames.is_empty() {
                return Ok(Some(frames));
            }
        }
        Ok(None)
    }
}
