/**
 * How many tokens a text may take, without a tokenizer: those differ by model, are megabytes, and change. Four ASCII characters to a token, rounded up,
 * which holds for prose and is near for JSON; two UTF-8 bytes to a token for everything else, which is above what current tokenizers make of Cyrillic,
 * Chinese and emoji. Dense hexadecimal can take up to twice as many: leave the model's window that much room, or hand in the model's own counter.
 */
export function estimateTokens(text: string): number {
  let ascii = 0
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) < 128) ascii++
  const otherBytes = ascii === text.length ? 0 : Buffer.byteLength(text) - ascii
  return Math.ceil(ascii / 4 + otherBytes / 2)
}
