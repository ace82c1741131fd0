"""Texts that a model writes itself."""

import torch


@torch.no_grad()
def sample(model, prompt, length, temperature, generator):
    """Continues every row of `prompt` to `length` tokens."""
    caches = [{} for _ in range(model.shape.layers)]
    ids = prompt
    fresh = prompt
    while ids.shape[1] < length:
        hidden = model.step(fresh, ids.shape[1] - fresh.shape[1], caches)
        logits = model.logits(hidden[:, -1]).float().cpu()
        law = torch.softmax(logits / temperature, dim=-1)
        fresh = torch.multinomial(law, 1, generator=generator).to(ids.device)
        ids = torch.cat((ids, fresh), dim=1)
    return ids
