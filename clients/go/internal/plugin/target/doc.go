// Package target decides what the names mean that users give: sandbox/NAME, claim/NAME, pool/NAME, template/NAME, or a bare name; and which
// Sandbox and which Pod stand behind them. What belongs together is told by the UID of the controller owner, never by names or labels alone.
package target
