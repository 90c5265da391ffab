#pragma once

#include "mha/analysis/attention_maps.hpp"
#include "output/records.hpp"

namespace mha {

/// The attention weights of a record with what its tokens are called.
AttentionMaps attention_maps(const Record& record, const RecordSchema& schema);

/// The same as the questions of the schema want to see them.
AttentionMaps shown_maps(const Record& record, const RecordSchema& schema);

/// Sentences about what was done to the input or the maps: the text was cut, heads are ablated, maps are averaged.
std::vector<std::string> map_notes(const Record& record, const RecordSchema& schema);

/// What the offsets of token `position` cut out of the input; the vocabulary entry for added specials.
std::string surface(const Record& record, const RecordSchema& schema, std::size_t position);

}  // namespace mha
