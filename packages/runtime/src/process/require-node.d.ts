export declare const NODE_RANGE: string;
export declare function requireNode(command?: string): void;
