"""Recurrence and decoding: Transformer-XL memory, RWKV, a CRF, greedy decoding, early exit."""
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class RelativeAttention(nn.Module):
    def __init__(self, n_head, d_model, d_head):
        super().__init__()
        self.n_head, self.d_head = n_head, d_head
        self.qkv_net = nn.Linear(d_model, 3 * n_head * d_head, bias=False)
        self.r_net = nn.Linear(d_model, n_head * d_head, bias=False)
        self.o_net = nn.Linear(n_head * d_head, d_model, bias=False)
        self.layer_norm = nn.LayerNorm(d_model)
        self.scale = 1 / (d_head ** 0.5)

    def _rel_shift(self, x):
        zero_pad = torch.zeros((x.size(0), 1, *x.size()[2:]), device=x.device, dtype=x.dtype)
        x_padded = torch.cat([zero_pad, x], dim=1)
        x_padded = x_padded.view(x.size(1) + 1, x.size(0), *x.size()[2:])
        return x_padded[1:].view_as(x)

    def forward(self, w, r, r_w_bias, r_r_bias, attn_mask=None, mems=None):
        qlen, rlen, bsz = w.size(0), r.size(0), w.size(1)
        cat = torch.cat([mems, w], 0) if mems is not None else w
        w_heads = self.qkv_net(cat)
        w_head_q, w_head_k, w_head_v = torch.chunk(w_heads, 3, dim=-1)
        w_head_q = w_head_q[-qlen:]
        klen = w_head_k.size(0)
        w_head_q = w_head_q.view(qlen, bsz, self.n_head, self.d_head)
        w_head_k = w_head_k.view(klen, bsz, self.n_head, self.d_head)
        w_head_v = w_head_v.view(klen, bsz, self.n_head, self.d_head)
        r_head_k = self.r_net(r).view(rlen, self.n_head, self.d_head)
        AC = torch.einsum("ibnd,jbnd->ijbn", (w_head_q + r_w_bias, w_head_k))
        BD = self._rel_shift(torch.einsum("ibnd,jnd->ijbn", (w_head_q + r_r_bias, r_head_k)))
        attn_score = (AC + BD).mul_(self.scale)
        if attn_mask is not None and attn_mask.any().item():
            attn_score = attn_score.float().masked_fill(attn_mask[:, :, None, None], -float("inf")).type_as(attn_score)
        attn_prob = F.softmax(attn_score, dim=1)
        attn_vec = torch.einsum("ijbn,jbnd->ibnd", (attn_prob, w_head_v))
        attn_vec = attn_vec.contiguous().view(attn_vec.size(0), attn_vec.size(1), self.n_head * self.d_head)
        return self.layer_norm(w + self.o_net(attn_vec))


class MemTransformerLM(nn.Module):
    def __init__(self, n_token=40, n_layer=2, n_head=2, d_model=8, d_head=4, mem_len=6):
        super().__init__()
        self.word_emb = nn.Embedding(n_token, d_model)
        self.mem_len = mem_len
        self.layers = nn.ModuleList(RelativeAttention(n_head, d_model, d_head) for _ in range(n_layer))
        self.register_buffer("inv_freq", 1 / (10000 ** (torch.arange(0.0, d_model, 2.0) / d_model)))
        self.r_w_bias = nn.Parameter(torch.randn(n_head, d_head))
        self.r_r_bias = nn.Parameter(torch.randn(n_head, d_head))

    def _update_mems(self, hids, mems, qlen, mlen):
        assert len(hids) == len(mems), "len(hids) != len(mems)"
        with torch.no_grad():
            new_mems = []
            end_idx = mlen + max(0, qlen)
            beg_idx = max(0, end_idx - self.mem_len)
            for i in range(len(hids)):
                cat = torch.cat([mems[i], hids[i]], dim=0)
                new_mems.append(cat[beg_idx:end_idx].detach())
        return new_mems

    def forward(self, inp, *mems):
        if not mems:
            mems = [torch.empty(0, inp.size(1), self.r_w_bias.numel(), device=inp.device) for _ in range(3)]
        qlen, bsz = inp.size()
        word_emb = self.word_emb(inp)
        mlen = mems[0].size(0)
        klen = mlen + qlen
        dec_attn_mask = torch.triu(word_emb.new_ones(qlen, klen), diagonal=1 + mlen).bool()
        pos_seq = torch.arange(klen - 1, -1, -1.0, device=word_emb.device, dtype=word_emb.dtype)
        sinusoid_inp = torch.ger(pos_seq, self.inv_freq)
        pos_emb = torch.cat([sinusoid_inp.sin(), sinusoid_inp.cos()], dim=-1)
        core_out = word_emb
        hids = [core_out]
        for i, layer in enumerate(self.layers):
            core_out = layer(core_out, pos_emb, self.r_w_bias, self.r_r_bias, dec_attn_mask, mems[i])
            hids.append(core_out)
        return [core_out] + self._update_mems(hids, mems, mlen, qlen)


def transformer_xl():
    return MemTransformerLM(), (torch.randint(0, 40, (5, 2)), *[torch.randn(4, 2, 8) for _ in range(3)])


class TimeMix(nn.Module):
    def __init__(self, n_embd, layer_id, n_layer):
        super().__init__()
        ratio = layer_id / max(1, n_layer - 1)
        self.layer_id = layer_id
        self.time_decay = nn.Parameter(torch.linspace(-5, 3, n_embd) * (0.7 + 1.3 * ratio))
        self.time_first = nn.Parameter(torch.ones(n_embd) * 0.3)
        self.time_mix_k = nn.Parameter(torch.rand(1, 1, n_embd))
        self.time_mix_v = nn.Parameter(torch.rand(1, 1, n_embd))
        self.time_shift = nn.ZeroPad2d((0, 0, 1, -1))
        self.key = nn.Linear(n_embd, n_embd, bias=False)
        self.value = nn.Linear(n_embd, n_embd, bias=False)
        self.receptance = nn.Linear(n_embd, n_embd, bias=False)
        self.output = nn.Linear(n_embd, n_embd, bias=False)

    @torch.no_grad()
    def decay(self):
        return -torch.exp(self.time_decay.float())

    def forward(self, x):
        B, T, C = x.size()
        xx = self.time_shift(x)
        k = self.key(x * self.time_mix_k + xx * (1 - self.time_mix_k))
        v = self.value(x * self.time_mix_v + xx * (1 - self.time_mix_v))
        r = torch.sigmoid(self.receptance(x))
        w, u = self.decay(), self.time_first
        aa, bb, pp = torch.zeros_like(k[:, 0]), torch.zeros_like(k[:, 0]), torch.full_like(k[:, 0], -1e38)
        out = torch.empty_like(v)
        for t in range(T):
            ww = u + k[:, t]
            p = torch.maximum(pp, ww)
            e1, e2 = torch.exp(pp - p), torch.exp(ww - p)
            out[:, t] = (e1 * aa + e2 * v[:, t]) / (e1 * bb + e2)
            ww = pp + w
            p = torch.maximum(ww, k[:, t])
            e1, e2 = torch.exp(ww - p), torch.exp(k[:, t] - p)
            aa, bb, pp = e1 * aa + e2 * v[:, t], e1 * bb + e2, p
        return self.output(r * out)


class RWKV(nn.Module):
    def __init__(self, vocab=30, n_embd=8, n_layer=2):
        super().__init__()
        self.emb = nn.Embedding(vocab, n_embd)
        self.ln0 = nn.LayerNorm(n_embd)
        self.blocks = nn.Sequential(*[TimeMix(n_embd, i, n_layer) for i in range(n_layer)])
        self.head = nn.Linear(n_embd, vocab, bias=False)

    def forward(self, idx):
        x = self.ln0(self.emb(idx))
        for block in self.blocks:
            x = x + block(x)
        return self.head(x)


def rwkv():
    return RWKV(), (torch.randint(0, 30, (2, 6)),)


START_TAG, STOP_TAG = "<START>", "<STOP>"
TAGS = {"B": 0, "I": 1, "O": 2, START_TAG: 3, STOP_TAG: 4}


def log_sum_exp(smat):
    vmax = smat.max(dim=1, keepdim=True).values
    return (smat - vmax).exp().sum(dim=1, keepdim=True).log() + vmax


class BiLSTM_CRF(nn.Module):
    def __init__(self, vocab_size=20, tag2ix=TAGS, embedding_dim=6, hidden_dim=8):
        super().__init__()
        self.embedding_dim, self.hidden_dim = embedding_dim, hidden_dim
        self.tag2ix = tag2ix
        self.n_tags = len(tag2ix)
        self.word_embeds = nn.Embedding(vocab_size, embedding_dim)
        self.lstm = nn.LSTM(embedding_dim, hidden_dim // 2, num_layers=1, bidirectional=True, batch_first=True)
        self.hidden2tag = nn.Linear(hidden_dim, self.n_tags)
        self.transitions = nn.Parameter(torch.randn(self.n_tags, self.n_tags))
        self.transitions.data[tag2ix[START_TAG], :] = -10000
        self.transitions.data[:, tag2ix[STOP_TAG]] = -10000

    def _viterbi(self, frames):
        backtrace = []
        alpha = torch.full((frames.size(0), self.n_tags), -10000.0, device=frames.device)
        alpha[:, self.tag2ix[START_TAG]] = 0
        for frame in frames.unbind(1):
            smat = alpha.unsqueeze(2) + frame.unsqueeze(1) + self.transitions.T
            best, arg = smat.max(1)
            backtrace.append(arg)
            alpha = best
        alpha = alpha + self.transitions[self.tag2ix[STOP_TAG]]
        score, best_tag = alpha.max(dim=1)
        path = [best_tag]
        for bptrs in reversed(backtrace[1:]):
            best_tag = bptrs.gather(1, best_tag.unsqueeze(1)).squeeze(1)
            path.append(best_tag)
        return score, torch.stack(path[::-1], 1)

    def forward(self, sentence, lengths):
        embeds = self.word_embeds(sentence)
        packed = pack_padded_sequence(embeds, lengths, batch_first=True, enforce_sorted=False)
        out, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        return self._viterbi(self.hidden2tag(out))


def bilstm_crf():
    return BiLSTM_CRF(), (torch.randint(0, 20, (2, 5)), torch.tensor([5, 3]))


class Encoder(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True)

    def forward(self, input):
        return self.gru(self.embedding(input))


class BahdanauAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.Wa, self.Ua = nn.Linear(hidden_size, hidden_size), nn.Linear(hidden_size, hidden_size)
        self.Va = nn.Linear(hidden_size, 1)

    def forward(self, query, keys):
        scores = self.Va(torch.tanh(self.Wa(query) + self.Ua(keys))).squeeze(2).unsqueeze(1)
        weights = F.softmax(scores, dim=-1)
        return torch.bmm(weights, keys), weights


class AttnDecoder(nn.Module):
    def __init__(self, vocab, dim, max_length=4):
        super().__init__()
        self.max_length = max_length
        self.embedding = nn.Embedding(vocab, dim)
        self.attention = BahdanauAttention(dim)
        self.gru = nn.GRU(2 * dim, dim, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def forward(self, encoder_outputs, encoder_hidden, target_tensor=None):
        batch_size = encoder_outputs.size(0)
        decoder_input = torch.empty(batch_size, 1, dtype=torch.long, device=encoder_outputs.device).fill_(1)
        decoder_hidden = encoder_hidden
        decoder_outputs, attentions = [], []
        for i in range(self.max_length):
            decoder_output, decoder_hidden, attn_weights = self.forward_step(
                decoder_input, decoder_hidden, encoder_outputs)
            decoder_outputs.append(decoder_output)
            attentions.append(attn_weights)
            if target_tensor is not None:
                decoder_input = target_tensor[:, i].unsqueeze(1)
            else:
                _, topi = decoder_output.topk(1)
                decoder_input = topi.squeeze(-1).detach()
        decoder_outputs = F.log_softmax(torch.cat(decoder_outputs, dim=1), dim=-1)
        return decoder_outputs, decoder_hidden, torch.cat(attentions, dim=1)

    def forward_step(self, input, hidden, encoder_outputs):
        embedded = self.embedding(input)
        query = hidden.permute(1, 0, 2)
        context, attn_weights = self.attention(query, encoder_outputs)
        output, hidden = self.gru(torch.cat((embedded, context), dim=2), hidden)
        return self.out(output), hidden, attn_weights


class Seq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = Encoder(20, 8), AttnDecoder(20, 8)
        self.teacher_forcing = random.Random(0).random()

    def forward(self, source, target=None):
        outputs, hidden = self.encoder(source)
        decoded, _, attention = self.decoder(outputs, hidden, target if self.training else None)
        return dict(log_probs=decoded, attention=attention)


def seq2seq():
    return Seq2Seq(), (torch.randint(0, 20, (2, 6)), torch.randint(0, 20, (2, 4)))
