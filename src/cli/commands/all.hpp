#pragma once

#include "cli/command.hpp"

namespace mha::cli {

// One a file of this folder; commands.cpp lists them in the order of help.
extern const Command kEncode;
extern const Command kEmbed;
extern const Command kAttention;
extern const Command kExplain;
extern const Command kTokenize;
extern const Command kSimilarity;
extern const Command kHeads;
extern const Command kCompare;
extern const Command kModelList;
extern const Command kModelInfo;
extern const Command kModelVerify;
extern const Command kModelConvert;
extern const Command kModelInit;
extern const Command kBench;
extern const Command kFillMask;
extern const Command kClassify;
extern const Command kTag;
extern const Command kRerank;
extern const Command kAnswer;
extern const Command kSearch;
extern const Command kIndex;
extern const Command kIndexStats;
extern const Command kIndexVerify;
extern const Command kIndexExport;
extern const Command kServe;

extern const Command kComplete;
extern const Command kGenerate;

}  // namespace mha::cli
