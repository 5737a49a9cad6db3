/* Model files -> model trees. Nothing in a file is executed, unpacked or believed unchecked. */
#ifndef PEL_LOAD_LOAD_H
#define PEL_LOAD_LOAD_H

#include "base/json_read.h"
#include "base/map.h"
#include "io/pickle.h"
#include "io/source.h"
#include "io/zip.h"
#include "model/model.h"

/* A pickle that the file's usual reader would unpickle. */
typedef struct pel_loaded_pickle {
    pel_pickle *pickle;
    pel_str member;
    bool is_script; /* of TorchScript, whose reader knows torch's own types and those of the archive, nothing else */
} pel_loaded_pickle;

/* Python bytecode that the file brings along: a Lambda layer of Keras. */
typedef struct pel_loaded_code {
    pel_str member, name;
    pel_str marshalled;
} pel_loaded_code;

typedef struct pel_loaded {
    pel_str format; /* "PyTorch archive", "safetensors" ... */
    pel_networks networks;
    pel_findings findings;
    PEL_VEC(pel_loaded_pickle) pickles;
    PEL_VEC(pel_loaded_code) codes;
    pel_map read;               /* offset of an archive's member -> 1: its loader knows what it is */
    const pel_model_file *file; /* its name, and what lies beside it; the bytes are in input alone */
    const pel_input *input;
    const pel_json_value *keras_config; /* of a whole Keras model; NULL: it is none */
    pel_str keras_version;
    bool runs_members; /* an archive for a server, which runs the Python source in it */
    bool is_torch;     /* what torch.load opens */
    int depth;         /* how many files it lies in */
} pel_loaded;

/* One file by its content (into->input, if that is open already); the name serves messages alone. Throws PEL_E_FORMAT
 * if it is broken, PEL_E_UNSUPPORTED if it is of no known format. into: what was found out until then stays there. */
void pel_load(pel_ctx *ctx, const pel_model_file *file, pel_loaded *into);
/* The same for a file inside of a file. */
void pel_load_input(pel_ctx *ctx, pel_str name, const pel_input *input, pel_loaded *into);
/* Whether a name that a file gives leads to nothing but its own folder and what is below. */
bool pel_is_safe_path(pel_str path);
/* A file beside the one that is being loaded; false if there is none. */
bool pel_open_beside(pel_ctx *ctx, const pel_loaded *out, pel_str name, pel_input *input);

/* ---- one reader for each format; each adds networks. Those of archives return false if it is another's. Readers of
 * large formats take the input and ask for ranges; the others get all bytes in one view (the table in load.c). A test
 * pel_is_...(bytes) sees at most the first 64 KiB ---- */
bool pel_load_torch_zip(pel_ctx *ctx, pel_loaded *out, pel_str name, const pel_zip *zip);
bool pel_load_torch_export(pel_ctx *ctx, pel_loaded *out, pel_str name, const pel_zip *zip);
/* "float32", of the number that torch.export's schema has for it; empty: unknown. */
pel_str pel_export_dtype(const pel_json_value *number);
/* The index of torch.distributed.checkpoint: a pickle whose tensors lie in files beside it. */
bool pel_is_dcp(const pel_pickled *root);
void pel_load_dcp(pel_ctx *ctx, pel_loaded *out, pel_str name, const pel_pickled *root);
bool pel_load_torch_tar(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes);
void pel_load_torch_legacy(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes);
void pel_load_safetensors(pel_ctx *ctx, pel_loaded *out, pel_str name, const pel_input *input);
void pel_load_gguf(pel_ctx *ctx, pel_loaded *out, pel_str name, const pel_input *input);
void pel_load_onnx(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes);
/* Whether the model beside a file, that its name leads to, has its numbers there. */
bool pel_is_onnx_data(pel_ctx *ctx, const pel_loaded *out, pel_str name);
void pel_load_onnx_data(pel_ctx *ctx, pel_loaded *out, pel_str name);
void pel_load_graphdef(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes);
void pel_load_saved_model(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes);
/* Throws PEL_E_UNSUPPORTED: only what it would load is found. */
void pel_load_core_ml(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes);
/* A version, and a field of a number that no other format of this kind has. */
bool pel_is_core_ml(pel_ctx *ctx, const pel_input *input);
void pel_load_events(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes);
/* Checkpoints: an index (a sorted table), and data in files beside it. */
bool pel_is_tf_index(pel_ctx *ctx, const pel_input *input);
void pel_load_tf_index(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes);
/* The data themselves have no mark: the index beside them, if there is one, says what they are. */
bool pel_is_tf_data(pel_ctx *ctx, const pel_loaded *out, pel_str name, const pel_input *input);
void pel_load_tf_data(pel_ctx *ctx, pel_loaded *out, pel_str name);
bool pel_is_tf_fingerprint(pel_ctx *ctx, const pel_input *input);
void pel_load_tf_fingerprint(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes);
void pel_load_xml(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes);
void pel_load_flax(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes);
bool pel_is_tflite(pel_str bytes);
void pel_load_tflite(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes);
bool pel_is_json(pel_str bytes);
void pel_load_json(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes);
/* A value of JSON on each line; false if that can't be read either: then the names in it have been looked at. */
bool pel_load_json_lines(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes);
/* What Python's readers of JSON and YAML make UTF-8 of first; false if the file is no such text. */
bool pel_decode_text(pel_ctx *ctx, const pel_input *input, pel_str head, pel_str *text);
/* Source, YAML and requirements have no mark of their own: their names say what they are (repository.c). */
bool pel_is_repository_text(pel_str name);
void pel_load_repository_text(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes);
/* Templates, path files of Python, MLflow's descriptions: what no reader has a mark for. False: it is none of these. */
bool pel_load_other_text(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes);
/* The same text with spaces for comments, as far as it is certain that they are comments. */
pel_str pel_yaml_without_comments(pel_ctx *ctx, pel_str text);
/* Names of code in settings of any library, without making them the file's format. */
void pel_judge_settings(pel_ctx *ctx, pel_loaded *out, const pel_json_value *root);
/* Configs of models and notebooks; false: it is neither. */
bool pel_load_repository_config(pel_ctx *ctx, pel_loaded *out, pel_str name, const pel_json_value *root);
bool pel_load_keras_zip(pel_ctx *ctx, pel_loaded *out, pel_str name, const pel_zip *zip);
void pel_load_hdf5(pel_ctx *ctx, pel_loaded *out, pel_str name, const pel_input *input);
bool pel_is_keras_config(const pel_json_value *root);
void pel_load_keras_config(pel_ctx *ctx, pel_loaded *out, pel_str name, const pel_json_value *root);
bool pel_is_npy(pel_str bytes);
void pel_load_npy(pel_ctx *ctx, pel_loaded *out, pel_str name, const pel_input *input);
bool pel_load_skops(pel_ctx *ctx, pel_loaded *out, pel_str name, const pel_zip *zip);
bool pel_load_npz(pel_ctx *ctx, pel_loaded *out, pel_str name, const pel_zip *zip);

/* ---- files inside of files (inside.c) ---- */

bool pel_is_packed(pel_str bytes);                              /* in a way that io/unpack.h reads */
bool pel_is_packed_whole(pel_ctx *ctx, const pel_input *input); /* the same by all of it: a weak mark */
void pel_load_packed(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes);
bool pel_is_native(pel_str bytes); /* a program or library for a processor, or for a virtual machine */
bool pel_is_script(pel_str bytes); /* a text whose first line names the program that runs it */
bool pel_is_packed_otherwise(pel_str bytes);
void pel_load_packed_otherwise(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes);
/* Reads those members that no loader has read and that somebody might unpickle, unpack or load. adopts_networks: their
 * networks are the archive's. Returns how many there are. */
uint32_t pel_look_inside_zip(pel_ctx *ctx, pel_loaded *out, const pel_zip *zip, bool adopts_networks);
uint32_t pel_look_inside_tar(pel_ctx *ctx, pel_loaded *out, pel_str bytes, bool adopts_networks);
/* Bytes from start on that belong to nothing: what they would be to a reader that goes on. at: where the input begins.
 */
void pel_look_at_rest(pel_ctx *ctx, pel_loaded *out, const pel_input *input, uint64_t start, uint64_t at);
/* The same for an archive that begins inside of a file. */
void pel_look_behind(pel_ctx *ctx, pel_loaded *out, const pel_input *input, uint64_t start, bool adopts_networks);
/* Archives one after the other, as torch.distributed.checkpoint writes them: each is read as a file of its own. False:
 * it is one archive, or under another name. */
bool pel_load_zip_row(pel_ctx *ctx, pel_loaded *out, pel_str name, const pel_input *input);
/* What a file inside, at that place, says to the audit. */
void pel_adopt(pel_ctx *ctx, pel_loaded *out, const pel_loaded *inner, pel_str member, uint64_t at);

/* ---- shared ---- */

/* Makes the tree from full names: "layer.0.weight" becomes the tensor weight of the module layer.0. */
typedef struct pel_tree_builder {
    pel_ctx *ctx;
    pel_network *network;
    pel_map modules; /* interned path -> module */
    pel_map tensors; /* interned full name -> 1 */
    pel_findings *findings;
} pel_tree_builder;

/* A new network of out, empty but for its root. */
pel_tree_builder pel_build(pel_ctx *ctx, pel_loaded *out, pel_str name, char separator);
/* The module of that path, made if there is none. */
pel_module *pel_build_module(pel_tree_builder *builder, pel_str path);
/* Names that can't be split (empty parts, hundreds of parts) stay whole, at the root. */
void pel_build_tensor(pel_tree_builder *builder, pel_str full_name, pel_model_tensor tensor);
/* A tensor of the module at path whose full name is another: tensor.name is what the module calls it. */
void pel_build_tensor_at(pel_tree_builder *builder, pel_str path, pel_str full_name, pel_model_tensor tensor);
void pel_build_unknown(pel_tree_builder *builder, pel_str what, pel_str why);
/* Every member that is named as an array, and is one. */
void pel_add_arrays(pel_tree_builder *builder, pel_loaded *out, const pel_zip *zip);
/* Something that is no tensor: the value as text. Beyond a limit it is only counted. */
void pel_build_value(pel_tree_builder *builder, pel_str full_name, pel_str value);
/* An argument of a module: a constant. */
void pel_build_argument(pel_tree_builder *builder, pel_module *module, pel_str name, const pel_const *value);

/* A tensor's content at an offset of a file, checked: false if it lies outside. */
bool pel_build_place(pel_ctx *ctx, pel_model_tensor *tensor, const pel_input *file, pel_str member, uint64_t offset,
                     uint64_t size);
/* Where the bytes of a tensor are. */
void pel_store_at(pel_ctx *ctx, pel_stored *stored, const pel_input *file, uint64_t offset, uint64_t size);

#endif
