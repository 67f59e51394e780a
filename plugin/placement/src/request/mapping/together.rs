//! Which of the three options go together. In: each option as it was read. Out: [`Mapping`], or why
//! not. No machine is needed for that, so the submitting command refuses these. Pure.

use crate::request::mapping::error::MappingError;
use crate::request::mapping::options::{BindLevel, BindTo, MapBy, Mapping, RankBy, Target};
use crate::request::mapping::words::{LEVEL_WORDS, level_word};
use crate::request::object_kind::ObjectKind;
use crate::sets::count::counted;

/// The options as texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MappingTexts<'a> {
    /// `--map-by`.
    pub map: Option<&'a str>,
    /// `--rank-by`.
    pub rank: Option<&'a str>,
    /// `--bind-to`.
    pub bind: Option<&'a str>,
}

impl Mapping {
    /// Reads the options; `None` if none of them is given.
    ///
    /// # Errors
    /// What is wrong with one of them, or why they do not go together.
    pub fn read(texts: MappingTexts<'_>) -> Result<Option<Self>, MappingError> {
        Self::of(
            texts.map.map(str::parse).transpose()?,
            texts.rank.map(str::parse).transpose()?,
            texts.bind.map(str::parse).transpose()?,
        )
    }

    /// Puts the options together; `None` if none of them is given.
    ///
    /// # Errors
    /// Why they do not go together.
    pub fn of(
        map: Option<MapBy>,
        rank: Option<RankBy>,
        bind: Option<BindTo>,
    ) -> Result<Option<Self>, MappingError> {
        let mapping = Self { map, rank, bind };
        if mapping == Self::default() {
            return Ok(None);
        }
        mapping.check()?;
        Ok(Some(mapping))
    }

    fn check(&self) -> Result<(), MappingError> {
        let target = self.target();
        self.check_cpus(&target)?;
        self.check_bind(&target)?;
        self.check_rank(&target)
    }

    /// `pe=N`.
    fn check_cpus(&self, target: &Target) -> Result<(), MappingError> {
        let Some(each) = self.each().filter(|each| *each > 1) else {
            return Ok(());
        };
        let wrong = |why: String| Err(MappingError::together(format!("{self}: {why}")));
        match target {
            Target::Level(ObjectKind::Pu) => wrong(format!(
                "a hardware thread is one CPU and cannot hold {each}; use --map-by=slot:pe={each}:hwtcpus"
            )),
            Target::Level(ObjectKind::Core) if !self.counts_threads() => wrong(format!(
                "a core is one CPU and cannot hold {each}; use --map-by=slot:pe={each}, or \
                 core:pe={each}:hwtcpus for {each} hardware threads of one core"
            )),
            Target::List { .. } => {
                wrong("pe= does not go with pe-list=, which names the CPUs itself; drop pe=".into())
            }
            _ => Ok(()),
        }
    }

    fn check_bind(&self, target: &Target) -> Result<(), MappingError> {
        let Some(level) = self.bind.as_ref().and_then(|bind| bind.level) else {
            return Ok(());
        };
        let wrong = |why: String| Err(MappingError::together(format!("{self}: {why}")));
        let is_cpu = matches!(level, BindLevel::Object(ObjectKind::Core | ObjectKind::Pu));
        if let Some(each) = self.each().filter(|_| !is_cpu) {
            return wrong(format!(
                "pe={each} binds each task to {}; --bind-to may only be core or hwthread; drop \
                 --bind-to, or pe=",
                counted(each, "CPU")
            ));
        }
        if matches!(target, Target::List { .. }) && !is_cpu {
            return wrong(
                "pe-list= binds each task to CPUs of the list; --bind-to may only be core or \
                 hwthread; drop --bind-to"
                    .into(),
            );
        }
        match (level, target.kind()) {
            // The order of kinds is from wide to narrow.
            (BindLevel::Object(bound), Some(mapped)) if bound < mapped => {
                let (wide, narrow) = (level_word(bound), level_word(mapped));
                wrong(format!(
                    "tasks cannot be bound wider than they are mapped, and {wide} is wider than \
                     {narrow}; use --map-by={wide}, or --bind-to={narrow}"
                ))
            }
            _ => Ok(()),
        }
    }

    fn check_rank(&self, target: &Target) -> Result<(), MappingError> {
        // The default order of span.
        let span = self.map.as_ref().is_some_and(|map| map.span);
        let is_list = matches!(target, Target::List { .. });
        let rank = self.rank.or((span && is_list).then_some(RankBy::Span));
        match rank {
            Some(rank @ (RankBy::Fill | RankBy::Span)) if target.kind().is_none() => {
                Err(MappingError::together(format!(
                    "{self}: the order {rank} goes from object to object, but --map-by={target} has \
                     none; use --rank-by=slot, or map by a level ({})",
                    LEVEL_WORDS
                )))
            }
            _ => Ok(()),
        }
    }
}
