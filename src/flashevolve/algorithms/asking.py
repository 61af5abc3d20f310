"""Asking: a model is asked for a text between fences, and once more if it forgot them."""

from flashevolve.algorithms.gepa.prompts import again
from flashevolve.engine.workflow import StageContext
from flashevolve.llm.messages import assistant, user
from flashevolve.replies.fences import ReplyError, fenced_text


async def ask(ctx: StageContext, component: str, question: str, name: str = "") -> str:
    """Returns the text between fences of a reply; a reply without one is asked for once more.

    Raises `ReplyError` if that has none either. `name` tells several questions of one stage apart.
    """
    messages = [user(question)]
    reply = await ctx.chat("reflect", messages, name=name)
    try:
        return fenced_text(reply.text)
    except ReplyError as error:
        messages += [assistant(reply.text), user(again(component, str(error)))]
    second = f"{name}-again" if name else "again"
    return fenced_text((await ctx.chat("reflect", messages, name=second)).text)
