package redisurl

// Error says which part of a URL breaks which rule.
type Error struct {
	Part string // such as "host 2 of 3" or "option db"; never text of the URL that may be secret
	Rule string
}

// Error implements error.
func (e *Error) Error() string { return "URL: " + e.Part + ": " + e.Rule }

// refuse returns the error for a part that breaks a rule.
func refuse(part, rule string) error { return &Error{Part: part, Rule: rule} }
