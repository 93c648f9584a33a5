package users

import "context"

type key struct{}

// With is a context of what is done for a user.
func With(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, key{}, name)
}

// Of is the name of the user for whom something is done; "" for the person whose machine
// it is.
func Of(ctx context.Context) string {
	name, _ := ctx.Value(key{}).(string)
	return name
}
