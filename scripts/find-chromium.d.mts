export declare function findChromium(env?: Readonly<Record<string, string | undefined>>): string
