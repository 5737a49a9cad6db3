/* Pickled torch objects -> model tree: state dicts, checkpoints that hold them, whole modules, TorchScript. */
#ifndef PEL_LOAD_TORCH_OBJECTS_H
#define PEL_LOAD_TORCH_OBJECTS_H

#include "load/load.h"

/* The bytes of a storage, by its key. */
typedef struct pel_torch_storage {
    pel_str member;
    uint64_t offset, size;  /* in the file */
    const pel_input *input; /* the file; NULL if the bytes are packed: then unpack gives them, or nobody can */
    pel_str (*unpack)(pel_ctx *ctx, const pel_stored *stored);
    const void *arg;
} pel_torch_storage;

typedef enum pel_script_role { PEL_SCRIPT_ATTRIBUTE, PEL_SCRIPT_PARAMETER, PEL_SCRIPT_BUFFER } pel_script_role;

typedef struct pel_torch_source {
    bool (*storage)(void *arg, pel_str key, pel_torch_storage *storage); /* false if the file has none */
    /* TorchScript: what an attribute of a class is; NULL in other files. */
    pel_script_role (*role)(void *arg, pel_str class_module, pel_str class_name, pel_str attribute);
    /* Files before 0.1.10: a tensor by its id; NULL in other files. */
    bool (*tensor)(void *arg, const pel_pickled *id, pel_model_tensor *tensor);
    void *arg;
} pel_torch_source;

/* The tree of what the pickle's root is. */
void pel_load_torch_objects(pel_tree_builder *builder, const pel_pickle *pickle, const pel_torch_source *source);

/* The dtype of a storage class: FloatStorage, "float32"; empty if it is none. */
pel_str pel_storage_dtype(pel_str class_name);

/* A tensor of an archive whose storages are members of that folder. */
typedef struct pel_tensor_bytes {
    pel_str dtype;
    int64_t sizes[64];
    uint32_t n;
    pel_str bytes; /* from its first element on */
} pel_tensor_bytes;
/* False: the object is no tensor, or its elements don't lie in a row in the file. */
bool pel_pickled_tensor(pel_ctx *ctx, const pel_pickled *object, const pel_zip *zip, pel_str folder,
                        pel_findings *findings, pel_tensor_bytes *out);

#endif
