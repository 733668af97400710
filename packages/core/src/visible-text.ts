/** Text of others, where it is shown as it is: what could mislead the eye (directions, zero widths, controls, fillers) is named by its number. Pure. */
export const hiddenCharacters = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\u115F\u1160\u3164\uFFA0\u2800]/gu

/** `U+202E`. */
export const numberOfCharacter = (character: string): string => `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`

/** On one line: line ends and tabs are named, too. */
export const visibleText = (text: string): string => text.replace(hiddenCharacters, (character) => `⟨${numberOfCharacter(character)}⟩`)
