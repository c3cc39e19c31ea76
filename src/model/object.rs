//! Structs that are read from JSON objects only.
//!
//! What serde derives reads a struct from an array of its members too. In a ledger that would be a second
//! spelling of the same data, which other programs need not understand.

use serde::Deserializer;
use serde::de::Visitor;

/// Asks a deserializer for a map, whatever it is asked for.
pub(crate) struct ObjectOnly<D>(pub(crate) D);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for ObjectOnly<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(visitor)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// For structs that derive both traits with `#[serde(remote = "Self")]`.
macro_rules! object_only {
    ($($name:ident),+) => { $(
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $name::deserialize($crate::model::object::ObjectOnly(deserializer))
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $name::serialize(self, serializer)
            }
        }
    )+ };
}
pub(crate) use object_only;
