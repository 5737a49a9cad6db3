#include "io/protobuf.h"

#include "io/bytes.h"

static bool take_varint(pel_str bytes, uint64_t *at, uint64_t *value) {
    *value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (*at >= bytes.len) return false;
        unsigned char byte = (unsigned char)bytes.ptr[(*at)++];
        *value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return true;
    }
    return false;
}

static bool next(pel_proto *message, pel_proto_field *field) {
    uint64_t tag, size;
    if (!take_varint(message->bytes, &message->at, &tag) || tag >> 3 == 0 || tag >> 3 > 0x1FFFFFFF) return false;
    *field = (pel_proto_field){ .number = (uint32_t)(tag >> 3), .wire = (pel_wire)(tag & 7), .bytes = { "", 0 } };
    switch (field->wire) {
    case PEL_WIRE_NUMBER: return take_varint(message->bytes, &message->at, &field->value);
    case PEL_WIRE_BYTES:
        if (!take_varint(message->bytes, &message->at, &size)) return false;
        break;
    case PEL_WIRE_32: size = 4; break;
    case PEL_WIRE_64: size = 8; break;
    default: return false; /* groups: nobody writes them any more */
    }
    if (!pel_within(message->bytes, message->at, size)) return false;
    const char *at = message->bytes.ptr + message->at;
    if (field->wire == PEL_WIRE_32) field->value = pel_le32(at);
    if (field->wire == PEL_WIRE_64) field->value = pel_le64(at);
    field->bytes = pel_str_at(at, size);
    field->at = message->base + message->at;
    message->at += size;
    return true;
}

bool pel_proto_next(pel_ctx *ctx, pel_proto *message, pel_proto_field *field) {
    if (message->at == message->bytes.len) return false;
    uint64_t start = message->at;
    if (!next(message, field))
        pel_throw(ctx, PEL_E_FORMAT, message->base + start, "protocol buffer: truncated, or no field");
    return true;
}

bool pel_proto_packed(pel_ctx *ctx, const pel_proto_field *field, uint64_t *at, uint64_t *value) {
    if (field->wire != PEL_WIRE_BYTES) {
        *value = field->value;
        return (*at)++ == 0;
    }
    if (*at == field->bytes.len) return false;
    if (!take_varint(field->bytes, at, value))
        pel_throw(ctx, PEL_E_FORMAT, field->at + *at, "protocol buffer: truncated: a list of numbers");
    return true;
}

bool pel_proto_find(pel_ctx *ctx, pel_proto message, uint32_t number, pel_proto_field *field) {
    while (pel_proto_next(ctx, &message, field))
        if (field->number == number) return true;
    return false;
}

/* From field to field: what lies in them is not asked for. */
bool pel_proto_scan(pel_ctx *ctx, const pel_input *input, pel_proto_top *top) {
    enum { LONGEST_HEAD = 20 }; /* two numbers of ten bytes */
    *top = (pel_proto_top){ 0 };
    for (uint64_t at = 0; at < input->size;) {
        uint64_t rest = input->size - at, used = 0, tag, size = 0;
        pel_str head = pel_input_view(ctx, input, at, rest < LONGEST_HEAD ? rest : LONGEST_HEAD);
        if (!take_varint(head, &used, &tag) || tag >> 3 == 0 || tag >> 3 > 0x1FFFFFFF) return false;
        switch ((pel_wire)(tag & 7)) {
        case PEL_WIRE_NUMBER: {
            uint64_t value;
            if (!take_varint(head, &used, &value)) return false;
            break;
        }
        case PEL_WIRE_BYTES:
            if (!take_varint(head, &used, &size)) return false;
            break;
        case PEL_WIRE_32: size = 4; break;
        case PEL_WIRE_64: size = 8; break;
        default: return false;
        }
        if (size > rest - used) return false;
        if (tag >> 3 < 32) top->kinds[tag & 7] |= 1u << (tag >> 3);
        if (tag >> 3 > top->highest) top->highest = (uint32_t)(tag >> 3);
        at += used + size;
    }
    return input->size > 0;
}
